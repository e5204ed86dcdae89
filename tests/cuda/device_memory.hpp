// Device memory for tests and benchmarks that lives as long as its owner. Throws on what the CUDA runtime refuses: a
// test cannot go on without it.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace tilewright::cuda {

inline void require(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(error));
}

class DeviceMemory {
 public:
  DeviceMemory() = default;
  explicit DeviceMemory(std::int64_t bytes) : bytes_(std::max<std::int64_t>(bytes, 16)) {
    require(cudaMalloc(&memory_, static_cast<std::size_t>(bytes_)));
  }
  template <typename T>
  explicit DeviceMemory(const std::vector<T>& values)
      : DeviceMemory(static_cast<std::int64_t>(values.size() * sizeof(T))) {
    if (!values.empty()) require(cudaMemcpy(memory_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  DeviceMemory(DeviceMemory&& other) noexcept : memory_(other.memory_), bytes_(other.bytes_) {
    other.memory_ = nullptr;
  }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~DeviceMemory() { cudaFree(memory_); }

  template <typename T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(memory_);
  }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  void fill(int byte) const { require(cudaMemset(memory_, byte, static_cast<std::size_t>(bytes_))); }

  template <typename T>
  [[nodiscard]] std::vector<T> read(std::size_t count) const {
    std::vector<T> values(count);
    if (count > 0) require(cudaMemcpy(values.data(), memory_, count * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  void* memory_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace tilewright::cuda
