#include "tilewright/scale_layout.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace tilewright {
namespace {

Status check_sizes(std::int64_t rows, std::int64_t cols, std::size_t linear_bytes, std::size_t swizzled_bytes) {
  // Far above any tensor, and low enough that no product below can overflow.
  constexpr std::int64_t kLimit = std::numeric_limits<std::int32_t>::max();
  if (rows < 0 || cols < 0 || rows > kLimit || cols > kLimit / kScaleTileCols) {
    return fail(ErrorCode::invalid_argument, fmt::format("a scale tensor of {} rows by {} columns", rows, cols),
                fmt::format("rows go from 0 to {} and columns from 0 to {}", kLimit, kLimit / kScaleTileCols));
  }
  if (linear_bytes != static_cast<std::uint64_t>(rows * cols)) {
    return fail(ErrorCode::mismatch,
                fmt::format("{} bytes of linear scales for {} rows by {} columns", linear_bytes, rows, cols),
                fmt::format("pass {} bytes", rows * cols));
  }
  const std::int64_t needed = swizzled_scale_bytes(rows, cols);
  if (swizzled_bytes != static_cast<std::uint64_t>(needed)) {
    return fail(ErrorCode::mismatch,
                fmt::format("{} bytes of 128x4 scales for {} rows by {} columns", swizzled_bytes, rows, cols),
                fmt::format("pass {} bytes, padding to 128 rows and 4 columns included", needed));
  }
  return {};
}

}  // namespace

Status swizzle_scales(std::span<const std::uint8_t> linear, std::int64_t rows, std::int64_t cols,
                      std::span<std::uint8_t> swizzled) {
  TILEWRIGHT_TRY(check_sizes(rows, cols, linear.size(), swizzled.size()));
  std::fill(swizzled.begin(), swizzled.end(), std::uint8_t{0});
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t col = 0; col < cols; ++col) {
      swizzled[static_cast<std::size_t>(swizzled_scale_offset(row, col, cols))] =
          linear[static_cast<std::size_t>(row * cols + col)];
    }
  }
  return {};
}

Status unswizzle_scales(std::span<const std::uint8_t> swizzled, std::int64_t rows, std::int64_t cols,
                        std::span<std::uint8_t> linear) {
  TILEWRIGHT_TRY(check_sizes(rows, cols, linear.size(), swizzled.size()));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t col = 0; col < cols; ++col) {
      linear[static_cast<std::size_t>(row * cols + col)] =
          swizzled[static_cast<std::size_t>(swizzled_scale_offset(row, col, cols))];
    }
  }
  return {};
}

}  // namespace tilewright
