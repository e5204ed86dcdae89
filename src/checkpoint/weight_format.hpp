// How a config says that the routed experts are stored.
#pragma once

#include <nlohmann/json.hpp>

#include "tilewright/model.hpp"

namespace tilewright {

/// From config.json's quantization_config or hf_quant_config.json's quantization. `unspecified` where it says nothing
/// about the experts.
WeightFormat weight_format_of(const nlohmann::json& quantization);

}  // namespace tilewright
