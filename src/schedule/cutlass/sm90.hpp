// The oracle for SM90 kernels.
#pragma once

#include "tilewright/cutlass.hpp"

namespace tilewright::schedule::cutlass {

/// What the SM90 builders choose for a request whose architecture is sm_90 and whose sizes are positive.
Result<CutlassKernel> resolve_sm90(const CutlassRequest& request);

}  // namespace tilewright::schedule::cutlass
