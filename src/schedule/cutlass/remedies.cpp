// cutlass_remedies: changes that make a kernel build and fit, each resolved through the oracle itself.
#include "tilewright/cutlass.hpp"

namespace tilewright {

Result<std::vector<CutlassRemedy>> cutlass_remedies(const CutlassKernel& kernel) {
  if (kernel.builds() && kernel.fits()) return std::vector<CutlassRemedy>();
  return fail(ErrorCode::unsupported, "no remedies are known");
}

}  // namespace tilewright
