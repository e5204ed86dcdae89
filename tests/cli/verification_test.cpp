#include "tools/tilewright/verification.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tilewright::cli {
namespace {

TEST(Verification, MeasuresTheErrorAgainstTheLargestOutputOfTheToken) {
  // Token 0: off by 0.5 of 100. Token 1: off by 0.002 of 2.
  const Verification result = compare({100.5F, 1.0F, 2.002F, 0.0F}, {100.0, 1.0, 2.0, 0.0}, 2, Precision::w4a16);
  EXPECT_NEAR(result.max_rel_err, 0.005, 1e-12);
  EXPECT_EQ(result.worst_token, 0);
  EXPECT_FALSE(result.passed);
  EXPECT_TRUE(compare({100.5F, 1.0F}, {100.0, 1.0}, 1, Precision::w4a4).passed);
}

TEST(Verification, AcceptsTheToleranceAndNoMore) {
  const double tolerance = verification_tolerance(Precision::w4a16);
  EXPECT_TRUE(compare({static_cast<float>(1.0 + tolerance)}, {1.0}, 1, Precision::w4a16).passed);
  EXPECT_FALSE(compare({static_cast<float>(1.0 + 1.01 * tolerance)}, {1.0}, 1, Precision::w4a16).passed);
}

TEST(Verification, ANanOrAnInfinityNeverPasses) {
  EXPECT_FALSE(compare({std::numeric_limits<float>::quiet_NaN(), 1.0F}, {1.0, 1.0}, 1, Precision::w4a4).passed);
  EXPECT_FALSE(compare({1.0F, std::numeric_limits<float>::infinity()}, {1.0, 1.0}, 1, Precision::w4a4).passed);
}

TEST(Verification, ZerosMustBeZeros) {
  EXPECT_TRUE(compare({0.0F, 0.0F}, {0.0, 0.0}, 1, Precision::w4a4).passed);
  EXPECT_FALSE(compare({0.0F, 1e-30F}, {0.0, 0.0}, 1, Precision::w4a4).passed);
}

TEST(Verification, NoTokensPass) {
  const Verification result = compare({}, {}, 0, Precision::w4a16);
  EXPECT_TRUE(result.passed);
  EXPECT_EQ(result.worst_token, -1);
}

}  // namespace
}  // namespace tilewright::cli
