// The GPU that kernels will run on.
#pragma once

#include <cstdint>
#include <string>

#include "tilewright/result.hpp"

namespace tilewright::cuda {

struct GpuInfo {
  std::string name;
  int major = 0;  ///< compute capability
  int minor = 0;
  int sm_count = 0;
  int smem_per_block = 0;  ///< bytes, opt-in
  std::int64_t memory_bytes = 0;
};

/// The current device. `unsupported` without a driver or a device.
Result<GpuInfo> current_gpu();

/// The same, but `unsupported` with both numbers where its compute capability is not 9.0, which the SM90 kernels are
/// built for (sm_90a code runs on no other).
Result<GpuInfo> current_sm90();

}  // namespace tilewright::cuda
