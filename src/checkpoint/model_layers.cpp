#include "checkpoint/model_layers.hpp"

#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>

#include "checkpoint/config_json.hpp"

namespace tilewright {
namespace {

using Json = nlohmann::json;

int count_strings(const Json& list, const char* wanted) {
  return static_cast<int>(std::count_if(list.begin(), list.end(), [&](const Json& item) { return item == wanted; }));
}

int count_nonzero(const Json& list) {
  return static_cast<int>(
      std::count_if(list.begin(), list.end(), [](const Json& item) { return item.is_number() && item != 0; }));
}

/// Layers that the config lists one by one; none where it has no such list.
std::optional<LayerCounts> listed_layers(const Json& config) {
  const auto list = [&](const char* key) {
    const Json* value = find_key(config, {key});
    return value != nullptr && value->is_array() ? value : nullptr;
  };
  // Nemotron-H: "mamba", "moe", "attention" a layer, or a string of M, E, * and -.
  if (const Json* blocks = list("layers_block_type")) {
    return LayerCounts{static_cast<int>(blocks->size()), count_strings(*blocks, "moe")};
  }
  const std::string pattern = find_string(config, {"hybrid_override_pattern"});
  if (!pattern.empty()) {
    return LayerCounts{static_cast<int>(pattern.size()),
                       static_cast<int>(std::count(pattern.begin(), pattern.end(), 'E'))};
  }
  // GLM-5.1: "dense" or "sparse" a layer.
  if (const Json* types = list("mlp_layer_types")) {
    return LayerCounts{static_cast<int>(types->size()), count_strings(*types, "sparse")};
  }
  // MiniMax-M3 and MiMo-V2: 0 or 1 a layer.
  if (const Json* frequency = list("moe_layer_freq")) {
    return LayerCounts{static_cast<int>(frequency->size()), count_nonzero(*frequency)};
  }
  if (const Json* layers = list("moe_layers")) return LayerCounts{0, static_cast<int>(layers->size())};  // HF Llama4
  const std::string enumerated = find_string(config, {"moe_layers_enum"});  // Step-3.5: "3,4,5,..."
  if (!enumerated.empty()) {
    return LayerCounts{0, 1 + static_cast<int>(std::count(enumerated.begin(), enumerated.end(), ','))};
  }
  return std::nullopt;
}

std::set<int> dense_layers(const Json& config) {
  std::set<int> layers;
  const Json* list = find_key(config, {"mlp_only_layers"});  // HF Qwen3MoeConfig
  if (list == nullptr || !list->is_array()) return layers;
  for (const Json& layer : *list) {
    if (layer.is_number_integer()) layers.insert(layer.get<int>());
  }
  return layers;
}

}  // namespace

Result<LayerCounts> count_layers(const Json& config) {
  TILEWRIGHT_ASSIGN(const auto total, find_int(config, {"num_hidden_layers", "n_layers"}));
  if (std::optional<LayerCounts> listed = listed_layers(config)) {
    if (listed->total == 0) listed->total = total.value_or(0);
    if (total && *total != listed->total) {
      return fail(ErrorCode::mismatch,
                  fmt::format("config.json has num_hidden_layers {} and a list of {} layers", *total, listed->total),
                  "correct config.json");
    }
    return *listed;
  }
  TILEWRIGHT_ASSIGN(const auto first_dense, find_int(config, {"first_k_dense_replace"}));
  TILEWRIGHT_ASSIGN(const auto frequency, find_int(config, {"moe_layer_freq"}, 1));  // DeepSeek: layer % freq == 0
  // HF Qwen3Moe and Llama4: (layer + 1) % step == 0.
  TILEWRIGHT_ASSIGN(const auto step, find_int(config, {"decoder_sparse_step", "interleave_moe_layer_step"}, 1));
  const std::set<int> dense = dense_layers(config);
  LayerCounts counts{total.value_or(0), 0};
  for (int layer = 0; layer < counts.total; ++layer) {
    const bool sparse = layer >= first_dense.value_or(0) && layer % frequency.value_or(1) == 0 &&
                        (layer + 1) % step.value_or(1) == 0 && dense.count(layer) == 0;
    counts.moe += sparse ? 1 : 0;
  }
  return counts;
}

}  // namespace tilewright
