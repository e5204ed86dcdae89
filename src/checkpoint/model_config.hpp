// What the checkpoint reader takes from config.json beyond the public ModelFacts.
#pragma once

#include <string>

#include "tilewright/model.hpp"

namespace tilewright {

struct ConfigFacts {
  ModelFacts model;
  bool interleaved_gate_up = false;  ///< stacked gate_up rows alternate gate, up (gpt-oss)
};

/// As parse_model_config, with the facts that only a tensor reader needs.
Result<ConfigFacts> parse_config_facts(const std::string& config, const std::string& quant_config);

/// As read_model_config.
Result<ConfigFacts> read_config_facts(const std::string& path);

}  // namespace tilewright
