// The oracle for SM103 kernels.
#pragma once

#include "tilewright/cutlass.hpp"

namespace tilewright::schedule::cutlass {

/// What the SM103 builders choose for a request whose architecture is sm_103 and whose sizes are positive.
Result<CutlassKernel> resolve_sm103(const CutlassRequest& request);

}  // namespace tilewright::schedule::cutlass
