// The CUDA driver of this machine and its devices, asked at run time: the tool does not link libcuda.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilewright/targets.hpp"

namespace tilewright::cli {

struct CudaDevice {
  int index = 0;
  std::string name;
  ComputeCapability capability;
  int sm_count = 0;
  int smem_per_block = 0;  ///< opt-in limit of one block, bytes
  std::int64_t memory_bytes = 0;
};

struct CudaDriver {
  std::string absent;         ///< why no driver answers; empty where one does
  std::string kernel_module;  ///< "580.65.06", as /proc/driver/nvidia/version says; empty where it is not loaded
  int major = 0;              ///< newest CUDA version that the driver runs
  int minor = 0;
  std::vector<CudaDevice> devices;
};

CudaDriver find_cuda_driver();

}  // namespace tilewright::cli
