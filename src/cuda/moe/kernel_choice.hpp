// Which kernels run a layer on a GPU.
#pragma once

#include "cuda/device.hpp"
#include "cuda/sm120/grouped_gemm.hpp"
#include "tilewright/arch.hpp"
#include "tilewright/cuda_layer.hpp"
#include "tilewright/result.hpp"

namespace tilewright::cuda {

struct KernelChoice {
  Arch arch = Arch::sm_90;  ///< sm_90 or sm_120
  sm120::MmaPolicy policy = sm120::MmaPolicy::native;
  bool emulates_mma = false;  ///< of w4a4 alone: w4a16's MMA is both GPUs'
};

/// The kernels that are this GPU's own, sm_90 or sm_120; `unsupported` with its compute capability where there are
/// none.
Result<Arch> own_kernels(const GpuInfo& gpu);

/// Errors as cuda_available, with the GPU's compute capability and what would run.
Result<KernelChoice> choose_kernels(const GpuInfo& gpu, const CudaLayerOptions& options);

}  // namespace tilewright::cuda
