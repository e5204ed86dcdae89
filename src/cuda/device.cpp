#include "cuda/device.hpp"

#include <fmt/format.h>

#include "cuda/cuda_error.hpp"

namespace tilewright::cuda {

Result<GpuInfo> current_gpu() {
  int device = 0;
  if (Status status = cuda_status(cudaGetDevice(&device), "looking for a GPU"); !status) {
    return tl::unexpected(status.error());
  }
  cudaDeviceProp properties{};
  if (Status status = cuda_status(cudaGetDeviceProperties(&properties, device), "reading a GPU's properties");
      !status) {
    return tl::unexpected(status.error());
  }
  return GpuInfo{properties.name,
                 properties.major,
                 properties.minor,
                 properties.multiProcessorCount,
                 static_cast<int>(properties.sharedMemPerBlockOptin),
                 static_cast<std::int64_t>(properties.totalGlobalMem)};
}

Result<GpuInfo> current_sm90() {
  Result<GpuInfo> gpu = current_gpu();
  if (!gpu || (gpu->major == 9 && gpu->minor == 0)) return gpu;
  return fail(
      ErrorCode::unsupported,
      fmt::format("{} has compute capability {}.{}; this works with SM90's kernels, which are built for 9.0 alone",
                  gpu->name, gpu->major, gpu->minor),
      "run on an H100 or H200");
}

}  // namespace tilewright::cuda
