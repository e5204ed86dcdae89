#include "numerics/routing_math.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tilewright {
namespace {

constexpr double kUlp = 0x1p-23;  // of a float of 1; a result in [1, 2) may be off by this much for each ulp

/// Largest relative error of `approximate` against `exact` over a fine, uneven sweep of [low, high].
template <typename F, typename G>
double worst_error(F approximate, G exact, double low, double high) {
  constexpr int kSteps = 400'000;
  double worst = 0.0;
  for (int i = 0; i <= kSteps; ++i) {
    const auto x = static_cast<float>(low + (high - low) * i / kSteps);
    const double expected = exact(static_cast<double>(x));
    worst = std::max(worst, std::abs(static_cast<double>(approximate(x)) - expected) / expected);
  }
  return worst;
}

TEST(RoutingMath, ExpIsWithinTwoUlpDownToTheSmallestNormal) {
  EXPECT_LT(worst_error(
                exp_nonpositive, [](double x) { return std::exp(x); }, -87.3, 0.0),
            2 * kUlp);
  EXPECT_EQ(exp_nonpositive(0.0F), 1.0F);
}

TEST(RoutingMath, ExpBelowTheSmallestNormalIsZero) {
  EXPECT_EQ(exp_nonpositive(-87.5F), 0.0F);
  EXPECT_EQ(exp_nonpositive(-3.0e38F), 0.0F);
  EXPECT_EQ(exp_nonpositive(-std::numeric_limits<float>::infinity()), 0.0F);
}

// One exp (2 ulp), one addition and one division (half an ulp each).
TEST(RoutingMath, SigmoidIsWithinThreeUlpOnBothSides) {
  EXPECT_LT(worst_error(
                sigmoid, [](double x) { return 1.0 / (1.0 + std::exp(-x)); }, -87.0, 87.0),
            3 * kUlp);
  EXPECT_EQ(sigmoid(0.0F), 0.5F);
  EXPECT_EQ(sigmoid(200.0F), 1.0F);
  EXPECT_EQ(sigmoid(-200.0F), 0.0F);
}

// One exp (2 ulp), and a series with two roundings above it that dominate: division and the last addition.
TEST(RoutingMath, SoftplusIsWithinFourUlpOnBothSides) {
  EXPECT_LT(worst_error(
                softplus, [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }, -87.0, 87.0),
            4 * kUlp);
  EXPECT_EQ(softplus(200.0F), 200.0F);
  EXPECT_EQ(softplus(-200.0F), 0.0F);
}

}  // namespace
}  // namespace tilewright
