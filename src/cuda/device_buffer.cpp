#include "cuda/device_buffer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cuda/cuda_error.hpp"

namespace tilewright::cuda {

Result<DeviceBuffer> DeviceBuffer::allocate(std::int64_t bytes) {
  DeviceBuffer buffer;
  buffer.bytes_ = std::max<std::int64_t>(bytes, 16);
  const cudaError_t error = cudaMalloc(&buffer.memory_, static_cast<std::size_t>(buffer.bytes_));
  if (error != cudaSuccess) buffer.memory_ = nullptr;
  TILEWRIGHT_TRY(cuda_status(error, fmt::format("allocating {} bytes on the device", buffer.bytes_).c_str()));
  return buffer;
}

DeviceBuffer::~DeviceBuffer() {
  if (memory_ != nullptr) (void)cudaFree(memory_);
}

}  // namespace tilewright::cuda
