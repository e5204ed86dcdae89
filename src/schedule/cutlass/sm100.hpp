// The oracle for SM100 kernels.
#pragma once

#include "tilewright/cutlass.hpp"

namespace tilewright::schedule::cutlass {

/// What the SM100 builders choose for a request whose architecture is sm_100 and whose sizes are positive.
Result<CutlassKernel> resolve_sm100(const CutlassRequest& request);

}  // namespace tilewright::schedule::cutlass
