// Unpacking one stored image.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "inspect/byte_view.hpp"
#include "tilewright/result.hpp"

namespace tilewright::inspect {

/// Memory for one image after the other; grows to the largest.
class UnpackBuffer {
 public:
  /// `bytes` bytes that are not initialised, valid until the next call; null where the system has not that much.
  std::uint8_t* reserve(std::uint64_t bytes);

 private:
  std::unique_ptr<std::uint8_t[]> memory_;
  std::uint64_t size_ = 0;
};

/// `stored` unpacked to the `size` bytes that its entry states; itself where `compression` is empty. `exhausted` where
/// that passes a limit, `corrupt` where the data do not unpack to exactly that size.
Result<ByteView> unpack(ByteView stored, std::string_view compression, std::uint64_t size, UnpackBuffer& buffer);

}  // namespace tilewright::inspect
