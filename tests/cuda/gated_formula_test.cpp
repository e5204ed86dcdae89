#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cpu/activation_math.hpp"
#include "cuda/sm90/gemm_params.hpp"

namespace tilewright::cuda::sm90 {
namespace {

/// The formula of GatedFormula's comment, in double.
double evaluate(const GatedFormula& f, double gate, double up) {
  const double g = std::min<double>(gate, f.gate_limit);
  const double u = std::clamp<double>(up, -f.up_limit, f.up_limit);
  const double product = g * cpu::sigmoid(f.slope * g * (1.0 + f.cubic * g * g));
  return std::min<double>(product, f.product_limit) * (u + f.up_offset);
}

TEST(GatedFormula, IsEveryGatedActivation) {
  for (const Activation& activation :
       {Activation{ActivationKind::silu_gated, 0.0F}, Activation{ActivationKind::silu_gated_clamped, 10.0F},
        Activation{ActivationKind::swiglu_step, 7.0F}, Activation{ActivationKind::swiglu_oai, 7.0F},
        Activation{ActivationKind::gelu_tanh_gated, 0.0F}}) {
    const GatedFormula formula = gated_formula(activation);
    for (double gate = -30.0; gate <= 30.0; gate += 0.37) {
      for (const double up : {-20.0, -6.9, -0.3, 0.0, 1.7, 12.0}) {
        const double expected = cpu::activate<double>(activation, gate, up);
        EXPECT_NEAR(evaluate(formula, gate, up), expected, 2e-6 * std::abs(expected) + 1e-30)
            << to_string(activation.kind) << " " << gate << " " << up;
      }
    }
  }
}

}  // namespace
}  // namespace tilewright::cuda::sm90
