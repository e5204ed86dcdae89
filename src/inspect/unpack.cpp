#include "inspect/unpack.hpp"

#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

#include <climits>
#include <new>

#include "inspect/limits.hpp"

namespace tilewright::inspect {
namespace {

static_assert(kMaxImageBytes <= LZ4_MAX_INPUT_SIZE, "an LZ4 block's size is an int");

// How many bytes came out; nothing where the data are broken or pass `size`.
std::optional<std::uint64_t> unpack_lz4(ByteView stored, std::uint8_t* out, std::uint64_t size) {
  if (stored.size() > INT_MAX) return std::nullopt;
  const int written =
      LZ4_decompress_safe(reinterpret_cast<const char*>(stored.bytes().data()), reinterpret_cast<char*>(out),
                          static_cast<int>(stored.size()), static_cast<int>(size));
  if (written < 0) return std::nullopt;
  return static_cast<std::uint64_t>(written);
}

std::optional<std::uint64_t> unpack_zstd(ByteView stored, std::uint8_t* out, std::uint64_t size) {
  const std::size_t written = ZSTD_decompress(out, size, stored.bytes().data(), stored.size());
  if (ZSTD_isError(written) != 0) return std::nullopt;
  return written;
}

}  // namespace

std::uint8_t* UnpackBuffer::reserve(std::uint64_t bytes) {
  if (bytes > size_ || !memory_) {
    memory_.reset();  // before the larger one, so that the two never stand side by side
    memory_.reset(new (std::nothrow) std::uint8_t[bytes]);
    size_ = memory_ ? bytes : 0;
  }
  return memory_.get();
}

Result<ByteView> unpack(ByteView stored, std::string_view compression, std::uint64_t size, UnpackBuffer& buffer) {
  if (compression.empty()) return stored;
  if (size > kMaxImageBytes) {
    return fail(ErrorCode::exhausted, fmt::format("unpacks to {} bytes, above the limit of {}", size, kMaxImageBytes));
  }
  if (size / kMaxCompressionRatio > stored.size()) {
    return fail(ErrorCode::exhausted, fmt::format("{} bytes said to unpack to {}, above the limit of {}:1",
                                                  stored.size(), size, kMaxCompressionRatio));
  }
  std::uint8_t* out = buffer.reserve(size);
  if (out == nullptr) return fail(ErrorCode::exhausted, fmt::format("no memory for an image of {} bytes", size));
  const auto written = compression == "lz4" ? unpack_lz4(stored, out, size) : unpack_zstd(stored, out, size);
  if (!written) return fail(ErrorCode::corrupt, fmt::format("its {} data are broken", compression));
  if (*written != size) {
    return fail(ErrorCode::corrupt, fmt::format("unpacks to {} bytes where its entry states {}", *written, size));
  }
  return ByteView(std::span<const std::uint8_t>(out, size));
}

}  // namespace tilewright::inspect
