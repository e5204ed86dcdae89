// The routing from a config.json.
#pragma once

#include <nlohmann/json.hpp>

#include "checkpoint/model_families.hpp"
#include "tilewright/result.hpp"
#include "tilewright/routing.hpp"

namespace tilewright {

/// Top-k, scoring, groups and scaling. `family` may be null; then the config must name its scoring_func.
Result<Routing> read_routing(const nlohmann::json& config, const ModelFamily* family, int experts);

}  // namespace tilewright
