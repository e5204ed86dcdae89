#include "checkpoint/weight_format.hpp"

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "checkpoint/config_json.hpp"

namespace tilewright {
namespace {

using Json = nlohmann::json;

/// ModelOpt's quant_algo names (modelopt/torch/export/quant_utils.py). The AWQ, SVD and FP8-activation variants store
/// their weights as NVFP4; what they store beside them is a matter of the tensors.
WeightFormat format_of_algorithm(const std::string& name) {
  static constexpr std::array<std::pair<const char*, WeightFormat>, 15> kAlgorithms = {{
      {"NVFP4", WeightFormat::nvfp4},
      {"NVFP4_AWQ", WeightFormat::nvfp4},
      {"NVFP4_SVD", WeightFormat::nvfp4},
      {"W4A8_NVFP4_FP8", WeightFormat::nvfp4},
      {"W4A16_NVFP4", WeightFormat::nvfp4_weight_only},
      {"MXFP4", WeightFormat::mxfp4},
      {"W4A8_MXFP4_FP8", WeightFormat::mxfp4},
      {"W4A16_MXFP4", WeightFormat::mxfp4},
      {"FP8", WeightFormat::fp8},
      {"FP8_PB_WO", WeightFormat::fp8},
      {"FP8_PER_CHANNEL_PER_TOKEN", WeightFormat::fp8},
      {"MXFP8", WeightFormat::fp8},
      {"W4A16_AWQ", WeightFormat::int4},
      {"W4A8_AWQ", WeightFormat::int4},
      {"INT4_AWQ", WeightFormat::int4},
  }};
  for (const auto& [algorithm, format] : kAlgorithms) {
    if (name == algorithm) return format;
  }
  return WeightFormat::unspecified;
}

WeightFormat combine(std::optional<WeightFormat> so_far, WeightFormat next) {
  return !so_far || *so_far == next ? next : WeightFormat::mixed;
}

/// MIXED_PRECISION names every quantized module. Shared experts are not routed experts.
WeightFormat format_of_listed_experts(const Json& layers) {
  std::optional<WeightFormat> format;
  for (const auto& item : layers.items()) {
    const std::string& name = item.key();
    if (name.find(".experts") == std::string::npos) continue;
    format = combine(format, format_of_algorithm(find_string(item.value(), {"quant_algo"})));
  }
  return format.value_or(WeightFormat::bf16);  // modules that are not listed were left as they were
}

/// compressed-tensors' `format` (src/compressed_tensors/config/format.py), which `weights.num_bits` refines.
WeightFormat format_of_group(const Json& group, const std::string& format) {
  if (format == "nvfp4-pack-quantized") {
    return find_key(group, {"input_activations"}) != nullptr ? WeightFormat::nvfp4 : WeightFormat::nvfp4_weight_only;
  }
  if (format == "mxfp4-pack-quantized") return WeightFormat::mxfp4;
  if (format == "float-quantized" || format == "naive-quantized") return WeightFormat::fp8;
  if (format == "pack-quantized" || format == "marlin-24") return WeightFormat::int4;
  return WeightFormat::unspecified;
}

WeightFormat format_of_compressed_tensors(const Json& quantization) {
  const std::string common = find_string(quantization, {"format"});
  const Json* groups = find_key(quantization, {"config_groups"});
  if (groups == nullptr || !groups->is_object() || groups->empty()) return format_of_group(Json::object(), common);
  std::optional<WeightFormat> format;
  for (const Json& group : *groups) {
    const std::string own = find_string(group, {"format"});
    format = combine(format, format_of_group(group, own.empty() ? common : own));
  }
  return *format;
}

}  // namespace

WeightFormat weight_format_of(const Json& quantization) {
  if (!quantization.is_object()) return WeightFormat::unspecified;
  // DeepSeek-V4's NVFP4 exports keep quant_method fp8 for the attention and name the experts' algorithm apart.
  const WeightFormat experts = format_of_algorithm(find_string(quantization, {"moe_quant_algo"}));
  if (experts != WeightFormat::unspecified) return experts;
  const Json* layers = find_key(quantization, {"quantized_layers"});
  if (layers != nullptr && layers->is_object()) return format_of_listed_experts(*layers);
  const WeightFormat algorithm = format_of_algorithm(find_string(quantization, {"quant_algo"}));
  if (algorithm != WeightFormat::unspecified) return algorithm;
  const std::string method = find_string(quantization, {"quant_method"});
  if (method == "compressed-tensors") return format_of_compressed_tensors(quantization);
  if (method == "mxfp4") return WeightFormat::mxfp4;
  if (method == "fp8" || method == "fbgemm_fp8") return WeightFormat::fp8;
  if (method == "awq" || method == "gptq") return WeightFormat::int4;
  return WeightFormat::unspecified;
}

const char* to_string(WeightFormat format) {
  switch (format) {
    case WeightFormat::unspecified: return "unspecified";
    case WeightFormat::nvfp4: return "nvfp4";
    case WeightFormat::nvfp4_weight_only: return "nvfp4_weight_only";
    case WeightFormat::mxfp4: return "mxfp4";
    case WeightFormat::fp8: return "fp8";
    case WeightFormat::int4: return "int4";
    case WeightFormat::mixed: return "mixed";
    case WeightFormat::bf16: return "bf16";
  }
  return "unspecified";
}

}  // namespace tilewright
