// The function between GEMM1 and GEMM2 of an expert.
#pragma once

#include <string>

#include "tilewright/result.hpp"

namespace tilewright {

enum class ActivationKind {
  silu_gated,          ///< silu(g) * u
  silu_gated_clamped,  ///< g = min(g, limit), u = clamp(u, -limit, limit), silu(g) * u (DeepSeek-V4, GLM-5.3)
  swiglu_step,         ///< min(silu(g), limit) * clamp(u, -limit, limit) (Step-3.7)
  swiglu_oai,  ///< g = min(g, limit), u = clamp(u, -limit, limit), g * sigmoid(1.702 g) * (u + 1) (gpt-oss, MiniMax-M3)
  gelu_tanh_gated,  ///< gelu_tanh(g) * u (Gemma-4)
  relu2,            ///< max(x, 0)^2; no gate (Nemotron-3)
};

struct Activation {
  ActivationKind kind = ActivationKind::silu_gated;
  float limit = 0.0F;  ///< the clamp of the kinds that have one; must then be > 0

  [[nodiscard]] bool gated() const { return kind != ActivationKind::relu2; }
  [[nodiscard]] bool has_limit() const {
    return kind == ActivationKind::silu_gated_clamped || kind == ActivationKind::swiglu_step ||
           kind == ActivationKind::swiglu_oai;
  }
};

/// Name as it stands on the command line and in JSON, e.g. "silu_gated".
const char* to_string(ActivationKind kind);
/// The inverse of to_string; an unknown name is an `invalid_argument` that lists the known ones.
Result<ActivationKind> parse_activation(const std::string& name);

/// An `invalid_argument` where a kind with a clamp has no finite limit above 0.
Status check(const Activation& activation);

}  // namespace tilewright
