// Which decoder layers of a model have routed experts.
#pragma once

#include <nlohmann/json.hpp>

#include "tilewright/result.hpp"

namespace tilewright {

struct LayerCounts {
  int total = 0;  ///< decoder layers of the main model, without multi-token-prediction layers; 0 when unknown
  int moe = 0;    ///< those with routed experts; 0 when unknown
};

/// Counts from the language model's part of a config.json.
Result<LayerCounts> count_layers(const nlohmann::json& config);

}  // namespace tilewright
