// The gated activations as one formula, which an epilogue evaluates without knowing which of them it is.
#pragma once

#include "tilewright/activation.hpp"

namespace tilewright::cuda {

/// One formula for all gated activations: with g' = min(g, gate_limit) and u' = clamp(u, -up_limit, up_limit),
///   min(g' * sigmoid(slope * g' * (1 + cubic * g'^2)), product_limit) * (u' + up_offset).
/// gelu_tanh(g) is g * sigmoid(2 sqrt(2 / pi) (g + 0.044715 g^3)).
struct GatedFormula {
  float gate_limit = 0.0F;
  float up_limit = 0.0F;
  float product_limit = 0.0F;
  float slope = 1.0F;
  float cubic = 0.0F;
  float up_offset = 0.0F;
};

/// `limit` is the activation's where it has one. A kind without a gate is not read by a gated epilogue.
GatedFormula gated_formula(const Activation& activation);

}  // namespace tilewright::cuda
