// Random expert weights for timing: valid NVFP4, meaningless values.
#pragma once

#include <cstdint>

#include "tilewright/expert_weights.hpp"
#include "tilewright/model.hpp"

namespace tilewright::tune {

/// `count` experts of which `first` is the first one, out of `model.experts`, with I / tp channels each. All view one
/// expert's worth of random codes and scales: packing gives each its own copy.
ExpertWeights random_experts(const ModelFacts& model, int first, int count, int tp, std::uint64_t seed);

}  // namespace tilewright::tune
