#include <limits>

#include "cuda/grouped/gated_formula.hpp"

namespace tilewright::cuda {

GatedFormula gated_formula(const Activation& activation) {
  constexpr float kNone = std::numeric_limits<float>::infinity();
  constexpr float kGeluSlope = 1.5957691216F;  // 2 sqrt(2 / pi)
  constexpr float kGeluCubic = 0.044715F;
  switch (activation.kind) {
    case ActivationKind::silu_gated_clamped: return {activation.limit, activation.limit, kNone, 1.0F, 0.0F, 0.0F};
    case ActivationKind::swiglu_step: return {kNone, activation.limit, activation.limit, 1.0F, 0.0F, 0.0F};
    case ActivationKind::swiglu_oai: return {activation.limit, activation.limit, kNone, 1.702F, 0.0F, 1.0F};
    case ActivationKind::gelu_tanh_gated: return {kNone, kNone, kNone, kGeluSlope, kGeluCubic, 0.0F};
    case ActivationKind::silu_gated:
    case ActivationKind::relu2: break;
  }
  return {kNone, kNone, kNone, 1.0F, 0.0F, 0.0F};
}

}  // namespace tilewright::cuda
