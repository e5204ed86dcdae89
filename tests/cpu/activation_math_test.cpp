#include "cpu/activation_math.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace tilewright::cpu {
namespace {

constexpr ActivationKind kAll[] = {ActivationKind::silu_gated,      ActivationKind::silu_gated_clamped,
                                   ActivationKind::swiglu_step,     ActivationKind::swiglu_oai,
                                   ActivationKind::gelu_tanh_gated, ActivationKind::relu2};

double activate(ActivationKind kind, double gate, double up) {
  return cpu::activate<double>(Activation{kind, 7.0F}, gate, up);
}

TEST(ActivationMath, FollowsThePublishedFormulas) {
  const double g = 1.5;
  const double u = -2.0;
  const double sigmoid_g = 1.0 / (1.0 + std::exp(-g));
  EXPECT_NEAR(activate(ActivationKind::silu_gated, g, u), g * sigmoid_g * u, 1e-15);
  EXPECT_NEAR(activate(ActivationKind::silu_gated_clamped, g, u), g * sigmoid_g * u, 1e-15);
  EXPECT_NEAR(activate(ActivationKind::swiglu_step, g, u), g * sigmoid_g * u, 1e-15);
  EXPECT_NEAR(activate(ActivationKind::swiglu_oai, g, u), g / (1.0 + std::exp(-1.702 * g)) * (u + 1.0), 1e-15);
  const double z = std::sqrt(2.0 / std::acos(-1.0)) * (g + 0.044715 * g * g * g);
  EXPECT_NEAR(activate(ActivationKind::gelu_tanh_gated, g, u), 0.5 * g * (1.0 + std::tanh(z)) * u, 1e-15);
  EXPECT_EQ(activate(ActivationKind::relu2, g, 3.0), 9.0);
}

TEST(ActivationMath, ClampsTheGateFromAboveOnlyAndUpOnBothSides) {
  const auto kind = ActivationKind::silu_gated_clamped;
  EXPECT_EQ(activate(kind, 9.0, 1.0), activate(kind, 7.0, 1.0));
  EXPECT_NE(activate(kind, -9.0, 1.0), activate(kind, -7.0, 1.0));
  EXPECT_EQ(activate(kind, 1.0, 9.0), activate(kind, 1.0, 7.0));
  EXPECT_EQ(activate(kind, 1.0, -9.0), activate(kind, 1.0, -7.0));
}

// 7.003 * sigmoid(7.003) is below 7 where silu is clamped, and 7.05 * sigmoid(7.05) above it.
TEST(ActivationMath, SwigluStepClampsSiluNotItsInput) {
  const auto kind = ActivationKind::swiglu_step;
  EXPECT_LT(activate(kind, 7.003, 1.0), 7.0);
  EXPECT_GT(activate(kind, 7.003, 1.0), activate(kind, 7.0, 1.0));
  EXPECT_EQ(activate(kind, 7.05, 1.0), 7.0);
  EXPECT_EQ(activate(kind, 100.0, -9.0), -49.0);
}

TEST(ActivationMath, SwigluOaiClampsBeforeItAddsOne) {
  const auto kind = ActivationKind::swiglu_oai;
  EXPECT_EQ(activate(kind, 9.0, 9.0), activate(kind, 7.0, 7.0));
  EXPECT_EQ(activate(kind, 2.0, -9.0), activate(kind, 2.0, -7.0));
  EXPECT_EQ(activate(kind, 2.0, -1.0), 0.0);
}

TEST(ActivationMath, Relu2TakesUpAloneAndNothingBelowZero) {
  EXPECT_EQ(activate(ActivationKind::relu2, 5.0, -3.0), 0.0);
  EXPECT_EQ(activate(ActivationKind::relu2, -5.0, 3.0), 9.0);
}

TEST(ActivationMath, IsFiniteForLargeInputsInBothTypes) {
  for (const ActivationKind kind : kAll) {
    for (const float gate : {-1e15F, -1e4F, -89.0F, 89.0F, 1e4F, 1e15F}) {
      for (const float up : {-1e15F, 1e15F}) {
        EXPECT_TRUE(std::isfinite(cpu::activate<float>(Activation{kind, 7.0F}, gate, up))) << to_string(kind) << gate;
        EXPECT_TRUE(std::isfinite(activate(kind, gate, up))) << to_string(kind) << gate;
      }
    }
  }
}

// 1 + tanh(z) would lose every digit here: the true value is -10 * sigmoid(-87.3).
TEST(ActivationMath, GeluKeepsItsDigitsForNegativeInputs) {
  const double expected = -10.0 / (1.0 + std::exp(2.0 * 0.79788456080286535588 * (10.0 + 0.044715 * 1000.0)));
  ASSERT_LT(expected, 0.0);
  EXPECT_NEAR(gelu_tanh(-10.0) / expected, 1.0, 1e-13);
}

// Errors of a float formula: an exp (1 ulp) of an argument rounded two or three times (relative 2^-23 of up to 20
// here), and about four operations: 64 ulp of the value is generous and far below a wrong constant.
TEST(ActivationMath, FloatAgreesWithDouble) {
  for (const ActivationKind kind : kAll) {
    for (int i = -400; i <= 400; ++i) {
      const float gate = static_cast<float>(i) / 64.0F;
      const float up = 1.25F - gate / 3.0F;
      const double expected = activate(kind, gate, up);
      EXPECT_NEAR(cpu::activate<float>(Activation{kind, 7.0F}, gate, up), expected, 64 * 0x1p-24 * std::abs(expected))
          << to_string(kind) << " at " << gate;
    }
  }
}

}  // namespace
}  // namespace tilewright::cpu
