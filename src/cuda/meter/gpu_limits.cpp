#include "cuda/meter/gpu_limits.hpp"

#include "cuda/cuda_error.hpp"
#include "cuda/device.hpp"
#include "cuda/meter/meter.hpp"
#include "cuda/moe/kernel_choice.hpp"

namespace tilewright::cuda {

Result<GpuLimits> measure_gpu(Precision precision) {
  TILEWRIGHT_ASSIGN(const GpuInfo gpu, current_gpu());
  TILEWRIGHT_ASSIGN(const Arch kernels, own_kernels(gpu));
  int device = 0;
  int l2_bytes = 0;
  TILEWRIGHT_TRY(cuda_status(cudaGetDevice(&device), "looking for a GPU"));
  TILEWRIGHT_TRY(cuda_status(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, device), "reading the L2 size"));
  GpuLimits limits{gpu.name, gpu.sm_count, l2_bytes, 0, 0, ""};
  TILEWRIGHT_ASSIGN(limits.read_GBps, measure_read_GBps(gpu.sm_count));
  if (kernels == Arch::sm_90) {
    limits.matrix = "bf16 wgmma";
    TILEWRIGHT_ASSIGN(limits.matrix_tflops, measure_wgmma_tflops(gpu.sm_count));
  } else if (precision == Precision::w4a4) {
    limits.matrix = "FP4 mma.sync";
    TILEWRIGHT_ASSIGN(limits.matrix_tflops, measure_fp4_mma_tflops(gpu.sm_count));
  } else {
    limits.matrix = "bf16 mma.sync";
    TILEWRIGHT_ASSIGN(limits.matrix_tflops, measure_bf16_mma_tflops(gpu.sm_count));
  }
  return limits;
}

}  // namespace tilewright::cuda
