#include "schedule/cutlass/sm90.hpp"

#include "schedule/cutlass/answer.hpp"

namespace tilewright::schedule::cutlass {

Result<CutlassKernel> resolve_sm90(const CutlassRequest& request) {
  return not_covered(request, "any kernel", "sm_120 and sm_121");
}

}  // namespace tilewright::schedule::cutlass
