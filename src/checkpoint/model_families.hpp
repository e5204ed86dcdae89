// What a model family's code does that its config.json does not say.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/activation.hpp"
#include "tilewright/routing.hpp"

namespace tilewright {

struct ModelFamily {
  std::string_view name;      ///< prefix of the model_type or architecture, lower case, letters and digits
  Scoring scoring;            ///< where the config has no scoring_func
  bool renormalize;           ///< where it has no norm_topk_prob
  bool selection_bias;        ///< the model code always has an e_score_correction_bias
  ActivationKind activation;  ///< where hidden_act is silu or absent
  float limit = 0.0F;         ///< clamp of the activation where the config has no swiglu_limit
  bool expert_size_is_intermediate = false;  ///< intermediate_size is the experts' inner width
  int shared_experts = 0;                    ///< where no key tells
  bool interleaved_gate_up = false;          ///< stacked gate_up rows alternate gate, up
};

/// The family of the first name that belongs to one. Names are model_type and architectures, the innermost first.
const ModelFamily* find_family(const std::vector<std::string>& names);

}  // namespace tilewright
