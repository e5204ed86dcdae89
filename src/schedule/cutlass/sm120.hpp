// The oracle for SM120 and SM121 kernels: CUTLASS has one set of builders for both.
#pragma once

#include "tilewright/cutlass.hpp"

namespace tilewright::schedule::cutlass {

/// What the SM120 builders choose for a request whose architecture is sm_120 or sm_121 and whose sizes are positive.
Result<CutlassKernel> resolve_sm120(const CutlassRequest& request);

}  // namespace tilewright::schedule::cutlass
