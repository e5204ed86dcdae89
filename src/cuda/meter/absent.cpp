// Measuring the GPU in a build without CUDA kernels.
#include "cuda/meter/calibration.hpp"
#include "cuda/meter/gpu_limits.hpp"
#include "tilewright/cuda_layer.hpp"

namespace tilewright::cuda {

Result<GpuLimits> measure_gpu(Precision /*precision*/) {
  TILEWRIGHT_TRY(cuda_available());
  return GpuLimits{};
}

Result<Calibration> calibrate() {
  TILEWRIGHT_TRY(cuda_available());
  return Calibration{};
}

}  // namespace tilewright::cuda
