#include "tilewright/activation.hpp"

#include <array>
#include <cmath>

#include <fmt/format.h>

namespace tilewright {
namespace {

constexpr std::array kKinds = {ActivationKind::silu_gated,      ActivationKind::silu_gated_clamped,
                               ActivationKind::swiglu_step,     ActivationKind::swiglu_oai,
                               ActivationKind::gelu_tanh_gated, ActivationKind::relu2};

}  // namespace

const char* to_string(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::silu_gated: return "silu_gated";
    case ActivationKind::silu_gated_clamped: return "silu_gated_clamped";
    case ActivationKind::swiglu_step: return "swiglu_step";
    case ActivationKind::swiglu_oai: return "swiglu_oai";
    case ActivationKind::gelu_tanh_gated: return "gelu_tanh_gated";
    case ActivationKind::relu2: return "relu2";
  }
  return "unknown";
}

Result<ActivationKind> parse_activation(const std::string& name) {
  std::string names;
  for (const ActivationKind kind : kKinds) {
    if (name == to_string(kind)) return kind;
    names += names.empty() ? "" : ", ";
    names += to_string(kind);
  }
  return fail(ErrorCode::invalid_argument, fmt::format("unknown activation \"{}\"", name),
              fmt::format("use one of {}", names));
}

Status check(const Activation& activation) {
  if (!activation.has_limit() || (std::isfinite(activation.limit) && activation.limit > 0.0F)) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("activation {} has limit {}, not a finite value above 0", to_string(activation.kind),
                          activation.limit),
              "give the model's clamp (swiglu_limit in config.json)");
}

}  // namespace tilewright
