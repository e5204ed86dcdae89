#include "checkpoint/model_activation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "checkpoint/config_json.hpp"

namespace tilewright {
namespace {

using Json = nlohmann::json;

// alpha of swiglu_oai, fixed by gpt-oss (gpt_oss/torch/model.py, swiglu).
constexpr float kSwigluOaiAlpha = 1.702F;

constexpr std::array<std::pair<const char*, ActivationKind>, 9> kHiddenActs = {{
    {"silu", ActivationKind::silu_gated},
    {"swish", ActivationKind::silu_gated},
    {"swigluoai", ActivationKind::swiglu_oai},  // MiniMax-M3
    {"swiglu_oai", ActivationKind::swiglu_oai},
    {"swiglu_step", ActivationKind::swiglu_step},
    {"relu2", ActivationKind::relu2},
    {"gelu_pytorch_tanh", ActivationKind::gelu_tanh_gated},
    {"gelu_tanh", ActivationKind::gelu_tanh_gated},
    {"gelu_new", ActivationKind::gelu_tanh_gated},
}};

Result<ActivationKind> read_kind(const Json& config, const ModelFamily* family) {
  const std::string name = find_string(config, {"mlp_hidden_act", "hidden_act", "hidden_activation"});
  if (name.empty()) {
    if (family != nullptr) return family->activation;
    return fail(ErrorCode::unsupported, "config.json names no hidden_act and its model_type is not known",
                "add hidden_act to config.json");
  }
  for (const auto& [act, kind] : kHiddenActs) {
    if (name != act) continue;
    // "silu" is also what families with their own SwiGLU say: gpt-oss, Step-3.7, DeepSeek-V4.
    const bool variant =
        kind == ActivationKind::silu_gated && family != nullptr && Activation{family->activation}.has_limit();
    return variant ? family->activation : kind;
  }
  return fail(ErrorCode::unsupported, fmt::format("activation \"{}\" of the experts is not supported", name),
              "supported are silu, swigluoai, gelu_pytorch_tanh (gated) and relu2");
}

/// Step's swiglu_limits holds a value a layer, 0 where a layer has no clamp.
float largest_limit(const Json& config) {
  const Json* limits = find_key(config, {"swiglu_limits"});
  float largest = 0.0F;
  if (limits == nullptr || !limits->is_array()) return largest;
  for (const Json& limit : *limits) {
    if (limit.is_number()) largest = std::max(largest, limit.get<float>());
  }
  return largest;
}

}  // namespace

Result<Activation> read_activation(const Json& config, const ModelFamily* family) {
  TILEWRIGHT_ASSIGN(const ActivationKind kind, read_kind(config, family));
  TILEWRIGHT_ASSIGN(const auto stated_limit, find_float(config, {"swiglu_limit"}));
  TILEWRIGHT_ASSIGN(const auto alpha, find_float(config, {"swiglu_alpha"}));
  Activation activation{kind, stated_limit.value_or(largest_limit(config))};
  if (activation.limit < 0.0F) {
    return fail(ErrorCode::corrupt, fmt::format("swiglu_limit is {}, not positive", activation.limit),
                "correct config.json");
  }
  if (kind == ActivationKind::silu_gated && activation.limit > 0.0F) {
    activation.kind = ActivationKind::silu_gated_clamped;
  }
  if (!activation.has_limit()) return Activation{activation.kind, 0.0F};
  if (activation.limit == 0.0F && family != nullptr) activation.limit = family->limit;
  if (activation.limit == 0.0F) {
    return fail(ErrorCode::unsupported, fmt::format("activation {} has no swiglu_limit", to_string(kind)),
                "add swiglu_limit to config.json");
  }
  if (kind == ActivationKind::swiglu_oai && std::abs(alpha.value_or(kSwigluOaiAlpha) - kSwigluOaiAlpha) > 1e-4F) {
    return fail(ErrorCode::unsupported,
                fmt::format("swiglu_alpha is {}, and only {} is supported", *alpha, kSwigluOaiAlpha));
  }
  return activation;
}

const char* hidden_act_name(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::silu_gated:
    case ActivationKind::silu_gated_clamped: return "silu";
    case ActivationKind::swiglu_step: return "swiglu_step";
    case ActivationKind::swiglu_oai: return "swigluoai";
    case ActivationKind::gelu_tanh_gated: return "gelu_pytorch_tanh";
    case ActivationKind::relu2: return "relu2";
  }
  return "silu";
}

}  // namespace tilewright
