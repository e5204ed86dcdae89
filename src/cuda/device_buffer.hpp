// Device memory with one owner.
#pragma once

#include <cstdint>
#include <utility>

#include "tilewright/result.hpp"

namespace tilewright::cuda {

class DeviceBuffer {
 public:
  /// At least 16 bytes, so that the pointer is always one. `exhausted` where the device has no room.
  static Result<DeviceBuffer> allocate(std::int64_t bytes);

  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~DeviceBuffer();

  template <typename T = void>
  [[nodiscard]] T* as(std::int64_t byte_offset = 0) const {
    return reinterpret_cast<T*>(static_cast<std::uint8_t*>(memory_) + byte_offset);
  }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  void* memory_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace tilewright::cuda
