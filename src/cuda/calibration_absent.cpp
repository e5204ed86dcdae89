// Calibration in a build without CUDA kernels.
#include "cuda/calibration.hpp"
#include "tilewright/cuda_layer.hpp"

namespace tilewright::cuda {

Result<Calibration> calibrate() {
  TILEWRIGHT_TRY(cuda_available());
  return Calibration{};
}

}  // namespace tilewright::cuda
