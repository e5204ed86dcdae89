#include "checkpoint/model_config.hpp"

#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "checkpoint/config_json.hpp"
#include "checkpoint/model_activation.hpp"
#include "checkpoint/model_families.hpp"
#include "checkpoint/model_layers.hpp"
#include "checkpoint/model_routing.hpp"
#include "checkpoint/weight_format.hpp"

namespace tilewright {
namespace {

using Json = nlohmann::json;

/// The language model's part of a multimodal config, which wraps it once or twice.
const Json& language_model(const Json& config) {
  const Json* part = &config;
  while (const Json* inner =
             find_key(*part, {"thinker_config", "text_config", "language_config", "llm_config", "language_model"})) {
    if (!inner->is_object()) break;
    part = inner;
  }
  return *part;
}

void append_names(const Json& config, std::vector<std::string>& names) {
  names.push_back(find_string(config, {"model_type"}));
  const Json* architectures = find_key(config, {"architectures"});
  if (architectures == nullptr || !architectures->is_array()) return;
  for (const Json& architecture : *architectures) {
    if (architecture.is_string()) names.push_back(architecture.get<std::string>());
  }
}

std::string shown_type(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!name.empty()) return name;
  }
  return "unnamed";
}

Result<int> count_experts(const Json& config, const std::string& type) {
  TILEWRIGHT_ASSIGN(const auto experts, find_int(config, {"n_routed_experts", "num_experts", "num_local_experts",
                                                          "moe_num_experts", "num_routed_experts"}));
  TILEWRIGHT_ASSIGN(const auto enabled, find_bool(config, {"enable_moe_block"}));  // Gemma-4
  if (experts.value_or(0) > 1 && enabled.value_or(true)) return *experts;
  return fail(ErrorCode::unsupported, fmt::format("{} is a dense model: its config.json has no routed experts", type),
              "give a mixture-of-experts model");
}

Result<int> count_shared_experts(const Json& config, const ModelFamily* family) {
  TILEWRIGHT_ASSIGN(const auto count, find_int(config, {"n_shared_experts", "num_shared_experts"}));
  if (count) return *count;
  TILEWRIGHT_ASSIGN(const auto width, find_int(config, {"shared_expert_intermediate_size", "shared_intermediate_size",
                                                        "share_expert_dim"}));
  if (width) return *width > 0 ? 1 : 0;
  return family != nullptr ? family->shared_experts : 0;
}

Status read_sizes(const Json& config, const ModelFamily* family, ModelFacts& facts) {
  // Latent experts (Nemotron-3 Super and Ultra, Kimi-K3) work on a projection of the hidden state.
  TILEWRIGHT_ASSIGN(const auto hidden,
                    find_int(config, {"moe_latent_size", "routed_expert_hidden_size", "hidden_size"}, 1));
  TILEWRIGHT_ASSIGN(auto intermediate,
                    find_int(config, {"moe_intermediate_size", "expert_intermediate_size", "moe_ffn_hidden_size"}, 1));
  if (!intermediate && family != nullptr && family->expert_size_is_intermediate) {
    TILEWRIGHT_ASSIGN(intermediate, find_int(config, {"intermediate_size"}, 1));
  }
  if (!hidden || !intermediate) {
    return fail(ErrorCode::unsupported,
                fmt::format("config.json has no {}", hidden ? "moe_intermediate_size" : "hidden_size"),
                "add it to config.json");
  }
  facts.hidden = *hidden;
  facts.intermediate = *intermediate;
  return {};
}

/// Some conversions of DeepSeek-V4 drop routed_scaling_factor, which differs between Flash (1.5) and Pro (2.5). A
/// published model of the same sizes tells it; a guess of 1 would scale every output wrongly.
Status restore_scaling_factor(const Json& config, const ModelFamily* family, ModelFacts& facts) {
  const bool stated = find_key(config, {"routed_scaling_factor", "moe_router_scaling_factor"}) != nullptr;
  if (stated || family == nullptr || family->scoring != Scoring::sqrtsoftplus) return {};
  for (const ModelFacts& known : known_models()) {
    if (known.routing.scoring == facts.routing.scoring && known.hidden == facts.hidden &&
        known.intermediate == facts.intermediate && known.experts == facts.experts) {
      facts.routing.scaling_factor = known.routing.scaling_factor;
      return {};
    }
  }
  return fail(ErrorCode::unsupported, "config.json of a DeepSeek-V4 model has no routed_scaling_factor",
              "add it to config.json");
}

Result<WeightFormat> read_format(const Json& outer, const Json& inner, const std::string& quant_config) {
  if (!quant_config.empty()) {
    // ModelOpt writes this file beside the tensors it made; config.json may still hold the source model's.
    TILEWRIGHT_ASSIGN(const Json quant, parse_json_object(quant_config, "hf_quant_config.json"));
    const Json* quantization = find_key(quant, {"quantization"});
    const WeightFormat format = weight_format_of(quantization != nullptr ? *quantization : quant);
    if (format != WeightFormat::unspecified) return format;
  }
  const Json* quantization = find_key(outer, {"quantization_config"});
  if (quantization == nullptr) quantization = find_key(inner, {"quantization_config"});
  if (quantization == nullptr) return WeightFormat::unspecified;
  const WeightFormat format = weight_format_of(*quantization);
  // DeepSeek-V4's own checkpoints: quant_method fp8, experts e2m1 with one ue8m0 scale for 32.
  const bool fp4_experts = format == WeightFormat::fp8 && find_string(inner, {"expert_dtype"}) == "fp4";
  return fp4_experts ? WeightFormat::mxfp4 : format;
}

}  // namespace

Result<ConfigFacts> parse_config_facts(const std::string& config, const std::string& quant_config) {
  TILEWRIGHT_ASSIGN(const Json outer, parse_json_object(config, "config.json"));
  if (outer.contains("quantization") && !outer.contains("model_type")) {
    return fail(ErrorCode::unsupported, "this is an hf_quant_config.json, which does not describe the model",
                "give the config.json beside it");
  }
  const Json& inner = language_model(outer);
  std::vector<std::string> names;
  append_names(inner, names);
  append_names(outer, names);
  const ModelFamily* family = find_family(names);

  ConfigFacts facts;
  ModelFacts& model = facts.model;
  const std::string path_name = find_string(inner, {"_name_or_path"});
  model.name = path_name.empty() ? shown_type(names) : path_name;
  model.source = "config.json";
  TILEWRIGHT_ASSIGN(model.experts, count_experts(inner, shown_type(names)));
  TILEWRIGHT_ASSIGN(model.activation, read_activation(inner, family));
  TILEWRIGHT_TRY(read_sizes(inner, family, model));
  TILEWRIGHT_ASSIGN(model.routing, read_routing(inner, family, model.experts));
  TILEWRIGHT_TRY(restore_scaling_factor(inner, family, model));
  TILEWRIGHT_ASSIGN(model.shared_experts, count_shared_experts(inner, family));
  TILEWRIGHT_ASSIGN(const LayerCounts layers, count_layers(inner));
  model.total_layers = layers.total;
  model.moe_layers = layers.moe;
  TILEWRIGHT_ASSIGN(model.format, read_format(outer, inner, quant_config));
  facts.interleaved_gate_up = family != nullptr && family->interleaved_gate_up;
  return facts;
}

Result<ConfigFacts> read_config_facts(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path given(path);
  const fs::path file = fs::is_directory(given, error) ? given / "config.json" : given;
  if (!fs::exists(file, error)) {
    return fail(ErrorCode::not_found, "no config.json at " + file.string(),
                "give a model directory or a config.json, or name a known model");
  }
  TILEWRIGHT_ASSIGN(const std::string config, read_text_file(file.string()));
  // "config.json" has "hf_quant_config.json" beside it; "X_config.json", as collections name them, "X_hf_quant_...".
  std::string quant_config;
  const std::string name = file.filename().string();
  const std::string suffix = "config.json";
  if (name.size() >= suffix.size() && name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0) {
    const fs::path beside = file.parent_path() / (name.substr(0, name.size() - suffix.size()) + "hf_quant_config.json");
    if (fs::exists(beside, error)) {
      TILEWRIGHT_ASSIGN(quant_config, read_text_file(beside.string()));
    }
  }
  auto facts = parse_config_facts(config, quant_config);
  if (!facts) {
    return fail(facts.error().code, fmt::format("{}: {}", file.string(), facts.error().cause), facts.error().remedy);
  }
  facts->model.source = file.string();
  const fs::path directory = fs::absolute(file, error).parent_path();
  if (name == suffix && !directory.filename().empty()) facts->model.name = directory.filename().string();
  return facts;
}

Result<ModelFacts> parse_model_config(const std::string& config, const std::string& quant_config) {
  TILEWRIGHT_ASSIGN(const ConfigFacts facts, parse_config_facts(config, quant_config));
  return facts.model;
}

Result<ModelFacts> read_model_config(const std::string& path) {
  TILEWRIGHT_ASSIGN(const ConfigFacts facts, read_config_facts(path));
  return facts.model;
}

}  // namespace tilewright
