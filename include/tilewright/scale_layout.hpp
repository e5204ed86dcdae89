// Scale layouts: linear (as checkpoints store block scales) and 128x4 (as block-scaled MMAs read them).
//
// linear: scale of row r and block column c (16 elements of K) at r * cols + c.
// 128x4:  tiles of 128 rows by 4 columns, 512 bytes each, K tiles first; inside a tile, row r % 128 and column c % 4
// are
//         at (r % 32) * 16 + (r % 128) / 32 * 4 + c % 4. It is cuBLASLt's VEC16_UE4M3 order
//         (https://docs.nvidia.com/cuda/cublas/, "1D block scaling factors layout") and the scale atom of CUTLASS's
//         sm100_blockscaled_layout.hpp. Padding rows and columns are 0: an uninitialised 0x7F there is a NaN, which
//         poisons real rows.
#pragma once

#include <cstdint>
#include <span>

#include "tilewright/result.hpp"

namespace tilewright {

inline constexpr std::int64_t kScaleTileRows = 128;
inline constexpr std::int64_t kScaleTileCols = 4;

/// Bytes of a 128x4 scale tensor of `rows` rows and `cols` block columns, padding included.
constexpr std::int64_t swizzled_scale_bytes(std::int64_t rows, std::int64_t cols) {
  const std::int64_t row_tiles = (rows + kScaleTileRows - 1) / kScaleTileRows;
  const std::int64_t col_tiles = (cols + kScaleTileCols - 1) / kScaleTileCols;
  return row_tiles * col_tiles * kScaleTileRows * kScaleTileCols;
}

/// Byte offset of the scale of (row, col) in a 128x4 tensor of `cols` block columns.
constexpr std::int64_t swizzled_scale_offset(std::int64_t row, std::int64_t col, std::int64_t cols) {
  const std::int64_t col_tiles = (cols + kScaleTileCols - 1) / kScaleTileCols;
  const std::int64_t tile = row / kScaleTileRows * col_tiles + col / kScaleTileCols;
  return tile * kScaleTileRows * kScaleTileCols + row % 32 * 16 + row % kScaleTileRows / 32 * kScaleTileCols +
         col % kScaleTileCols;
}

/// linear [rows, cols] to 128x4, every byte of `swizzled` written. `linear` has rows * cols bytes and `swizzled`
/// swizzled_scale_bytes(rows, cols), else `mismatch`.
Status swizzle_scales(std::span<const std::uint8_t> linear, std::int64_t rows, std::int64_t cols,
                      std::span<std::uint8_t> swizzled);

/// The inverse: padding is dropped, whatever it holds.
Status unswizzle_scales(std::span<const std::uint8_t> swizzled, std::int64_t rows, std::int64_t cols,
                        std::span<std::uint8_t> linear);

}  // namespace tilewright
