// The current GPU and what it reaches, measured.
#pragma once

#include <cstdint>
#include <string>

#include "tilewright/precision.hpp"
#include "tilewright/result.hpp"

namespace tilewright::cuda {

struct GpuLimits {
  std::string device;
  int sm_count = 0;
  std::int64_t l2_bytes = 0;
  double read_GBps = 0;  ///< meter.hpp, as the matrix rate
  double matrix_tflops = 0;
  std::string matrix;  ///< what multiplied: "bf16 wgmma", "bf16 mma.sync" or "FP4 mma.sync"
};

/// The matrix rate is that of the instruction which this GPU's own kernels take for `precision`; of SM90, which has no
/// FP4, wgmma in bf16 for any. `unsupported` without CUDA in this build, and on a GPU that the kernels are not built
/// for.
Result<GpuLimits> measure_gpu(Precision precision);

}  // namespace tilewright::cuda
