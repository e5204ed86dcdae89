#include "checkpoint/expert_names.hpp"

#include <array>
#include <charconv>
#include <utility>
#include <vector>

namespace tilewright {
namespace {

using Components = std::vector<std::string_view>;

// w1, w3 and w2 are gate, up and down in every family that uses them.
constexpr std::array<std::pair<std::string_view, Projection>, 8> kProjections = {{
    {"gate_up_proj", Projection::gate_up},
    {"gate_proj", Projection::gate},
    {"up_proj", Projection::up},
    {"down_proj", Projection::down},
    {"w13", Projection::gate_up},
    {"w1", Projection::gate},
    {"w3", Projection::up},
    {"w2", Projection::down},
}};

constexpr std::array<std::pair<std::string_view, TensorRole>, 18> kRoles = {{
    {"weight", TensorRole::weight},
    {"weight_packed", TensorRole::weight_packed},
    {"weight_scale", TensorRole::block_scale},
    {"weight_scale_2", TensorRole::global_scale},
    {"weight_global_scale", TensorRole::global_scale_reciprocal},
    {"input_scale", TensorRole::input_scale},
    {"input_global_scale", TensorRole::input_scale_reciprocal},
    {"pre_quant_scale", TensorRole::pre_quant_scale},
    {"svdquant_lora_a", TensorRole::svd_factor},
    {"svdquant_lora_b", TensorRole::svd_factor},
    {"bias", TensorRole::bias},
    {"blocks", TensorRole::mx_blocks},
    {"scales", TensorRole::mx_scales},
    {"weight_scale_inv", TensorRole::mx_scales},
    // compressed-tensors names the parts of a parameter that is not called "weight" after the parameter.
    {"packed", TensorRole::weight_packed},
    {"global_scale", TensorRole::global_scale_reciprocal},
    {"weight_blocks", TensorRole::mx_blocks},
    {"weight_scales", TensorRole::mx_scales},
}};

Components split(std::string_view name) {
  Components parts;
  for (std::size_t begin = 0;;) {
    const std::size_t dot = name.find('.', begin);
    parts.push_back(name.substr(begin, dot - begin));
    if (dot == std::string_view::npos) return parts;
    begin = dot + 1;
  }
}

// Far above any model; a number beyond it is part of some other name.
constexpr int kLargestNumber = 1 << 20;

std::optional<int> parse_number(std::string_view text) {
  int value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  return value < 0 || value > kLargestNumber ? std::nullopt : std::optional<int>(value);
}

TensorRole role_of(std::string_view text) {
  for (const auto& [name, role] : kRoles) {
    if (text == name) return role;
  }
  return TensorRole::unknown;
}

/// "gate_up_proj", "gate_up_proj_weight_scale" or "gate_up_proj" followed by its own component "weight_scale".
void parse_projection_and_role(const Components& parts, std::size_t at, ExpertTensorName& name) {
  const std::string_view text = parts[at];
  for (const auto& [projection_name, projection] : kProjections) {
    if (text.substr(0, projection_name.size()) != projection_name) continue;
    const std::string_view rest = text.substr(projection_name.size());
    if (!rest.empty() && rest.front() != '_') continue;
    name.projection = projection;
    if (at + 1 == parts.size()) {
      name.role = rest.empty() ? TensorRole::weight : role_of(rest.substr(1));
      // Of a stacked parameter "<projection>_scale" is compressed-tensors' block scale.
      if (rest == "_scale") name.role = TensorRole::block_scale;
    } else if (rest.empty() && at + 2 == parts.size()) {
      name.role = role_of(parts[at + 1]);
      // "<projection>.scale" is the ue8m0 scale of DeepSeek-V4's own checkpoints.
      if (parts[at + 1] == "scale") name.role = TensorRole::mx_scales;
    }
    return;
  }
}

bool is_projection(std::string_view text) {
  for (const auto& [name, projection] : kProjections) {
    if (text == name) return true;
  }
  return false;
}

}  // namespace

std::optional<ExpertTensorName> parse_expert_tensor_name(std::string_view text) {
  const bool may_match = text.find("experts.") != std::string_view::npos || text.find("moe.") != std::string_view::npos;
  if (!may_match) return std::nullopt;
  const Components parts = split(text);
  std::optional<int> layer;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    if (parts[i] == "mtp") return std::nullopt;
    if (parts[i] == "layers") layer = parse_number(parts[i + 1]);
    const bool experts = parts[i] == "experts";
    const bool stacked_moe = parts[i] == "moe" && is_projection(parts[i + 1]);
    if (!layer || (!experts && !stacked_moe)) continue;
    ExpertTensorName name;
    name.layer = *layer;
    const std::optional<int> expert = experts ? parse_number(parts[i + 1]) : std::nullopt;
    name.expert = expert.value_or(kStacked);
    const std::size_t at = i + (expert ? 2U : 1U);
    if (at < parts.size()) parse_projection_and_role(parts, at, name);
    return name;
  }
  return std::nullopt;
}

const char* to_string(Projection projection) {
  switch (projection) {
    case Projection::gate: return "gate_proj";
    case Projection::up: return "up_proj";
    case Projection::gate_up: return "gate_up_proj";
    case Projection::down: return "down_proj";
    case Projection::unknown: return "unknown projection";
  }
  return "unknown projection";
}

}  // namespace tilewright
