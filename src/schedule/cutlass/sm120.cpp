#include "schedule/cutlass/sm120.hpp"

#include "schedule/cutlass/answer.hpp"

namespace tilewright::schedule::cutlass {

Result<CutlassKernel> resolve_sm120(const CutlassRequest& request) {
  return not_covered(request, "any kernel", "nothing yet");
}

}  // namespace tilewright::schedule::cutlass
