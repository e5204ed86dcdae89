// The experts' activation from a config.json.
#pragma once

#include <nlohmann/json.hpp>

#include "checkpoint/model_families.hpp"
#include "tilewright/activation.hpp"
#include "tilewright/result.hpp"

namespace tilewright {

/// `family` may be null. An activation that is not supported is an error that names it.
Result<Activation> read_activation(const nlohmann::json& config, const ModelFamily* family);

/// The hidden_act that read_activation reads back as `kind`.
const char* hidden_act_name(ActivationKind kind);

}  // namespace tilewright
