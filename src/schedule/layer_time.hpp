// The time of a whole expert layer: its two GEMMs and what stands around them.
#pragma once

#include "tilewright/planner.hpp"

namespace tilewright::schedule {

/// `gemm1` and `gemm2` are the plans of the layer's GEMMs on `device`.
LayerTime layer_time(const Device& device, const LayerProblem& problem, const GemmPlan& gemm1, const GemmPlan& gemm2);

}  // namespace tilewright::schedule
