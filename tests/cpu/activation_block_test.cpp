#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "cpu/activation_math.hpp"
#include "cpu/kernels.hpp"
#include "cpu/layer_fixture.hpp"

namespace tilewright::cpu {
namespace {

/// The argument of the exponential where it is itself computed: its rounding is a relative error of the result.
double computed_argument(ActivationKind kind, double gate) {
  if (kind == ActivationKind::gelu_tanh_gated) return 1.5957691216057308 * (gate + 0.044715 * gate * gate * gate);
  return kind == ActivationKind::swiglu_oai ? 1.702 * gate : 0.0;
}

class ActivationBlock : public testing::TestWithParam<ActivationKind> {
 protected:
  static void activate_block(const Activation& activation, const std::vector<float>& gate, const std::vector<float>& up,
                             IsaTier tier, float* out) {
    kernels(tier).rows.activate(activation, gate.data(), up.data(), static_cast<int>(up.size()), out);
  }
};

TEST_P(ActivationBlock, StaysWithinItsToleranceOfTheFormula) {
  const Activation activation = with_limit(GetParam(), 7.0F);
  std::vector<float> gate;
  std::vector<float> up;
  for (float g = -120.0F; g <= 120.0F; g += 0.0371F) {
    gate.push_back(g);
    up.push_back(0.5F + 9.0F * std::sin(g));
  }
  std::vector<float> out(up.size());
  activate_block(activation, gate, up, IsaTier::portable, out.data());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double exact = activate<double>(activation, gate[i], up[i]);
    // Below e^-87 the exponential is flushed, which is what the absolute part allows.
    const double relative = 4e-7 * (1.0 + std::fabs(computed_argument(GetParam(), gate[i])));
    EXPECT_NEAR(out[i], exact, relative * std::fabs(exact) + 1e-30) << "gate " << gate[i] << " up " << up[i];
  }
}

TEST_P(ActivationBlock, HasTheSameBitsOnEveryTier) {
  const Activation activation = with_limit(GetParam(), 7.0F);
  std::vector<float> gate;
  for (float g = -90.0F; g <= 90.0F; g += 0.173F) gate.push_back(g);
  const std::vector<float> up(gate.size(), -1.7F);
  std::vector<float> portable(up.size());
  activate_block(activation, gate, up, IsaTier::portable, portable.data());
  for (const IsaTier tier : available_tiers()) {
    std::vector<float> out(up.size());
    activate_block(activation, gate, up, tier, out.data());
    EXPECT_EQ(out, portable) << to_string(tier);
  }
}

TEST_P(ActivationBlock, WritesOverUpInPlace) {
  const Activation activation = with_limit(GetParam(), 7.0F);
  const std::vector<float> gate = {-2.0F, -0.5F, 0.0F, 0.5F, 2.0F};
  std::vector<float> up = {1.0F, -1.0F, 2.0F, 3.0F, -8.0F};
  std::vector<float> out(up.size());
  activate_block(activation, gate, up, best_tier(), out.data());
  activate_block(activation, gate, up, best_tier(), up.data());
  EXPECT_EQ(up, out);
}

INSTANTIATE_TEST_SUITE_P(EveryKind, ActivationBlock,
                         testing::Values(ActivationKind::silu_gated, ActivationKind::silu_gated_clamped,
                                         ActivationKind::swiglu_step, ActivationKind::swiglu_oai,
                                         ActivationKind::gelu_tanh_gated, ActivationKind::relu2),
                         [](const auto& param) { return std::string(to_string(param.param)); });

}  // namespace
}  // namespace tilewright::cpu
