#include <cstdlib>

#include <fmt/format.h>

#include "checkpoint/expert_matrix.hpp"
#include "tilewright/nvfp4.hpp"

namespace tilewright {
namespace {

constexpr std::uint8_t kNegativeZero = 0x80;

struct ScaleCounts {
  std::int64_t illegal = 0;
  std::int64_t negative_zeros = 0;
};

// Plain counting of bytes, which compilers turn into vector code when the stride is 1.
ScaleCounts count_run(const std::uint8_t* bytes, std::int64_t count) {
  ScaleCounts counts;
  constexpr std::int64_t kChunk = 255;  // what an 8-bit counter holds
  while (count > 0) {
    const std::int64_t chunk = count < kChunk ? count : kChunk;
    std::uint8_t high = 0;
    std::uint8_t zeros = 0;
    for (std::int64_t i = 0; i < chunk; ++i) {
      high = static_cast<std::uint8_t>(high + (bytes[i] >= kUe4m3Nan ? 1 : 0));
      zeros = static_cast<std::uint8_t>(zeros + (bytes[i] == kNegativeZero ? 1 : 0));
    }
    counts.illegal += high - zeros;
    counts.negative_zeros += zeros;
    bytes += chunk;
    count -= chunk;
  }
  return counts;
}

tl::unexpected<Error> illegal_scale(const MatrixPlace& place, std::int64_t row, std::int64_t block, std::uint8_t byte) {
  const bool nan = byte == kUe4m3Nan;
  return fail(
      ErrorCode::corrupt,
      fmt::format("{}: block scale of row {}, block {} is 0x{:02X}, {}", place.text(), place.first_row + row,
                  place.first_block + block, byte, nan ? "a NaN" : "with the sign bit set, which NVFP4 does not have"),
      nan ? "quantize the model again; a weight of this block was not a number"
          : "the file may be IF4 or signed FP8 scales; use an NVFP4 export of the model");
}

Status find_illegal(const MatrixPlace& place, const Nvfp4Matrix& matrix) {
  for (std::int64_t row = 0; row < matrix.valid_rows; ++row) {
    for (std::int64_t block = 0; block < matrix.valid_cols / kBlock; ++block) {
      const std::uint8_t byte = matrix.scales[row * matrix.scale_row_stride + block * matrix.scale_col_stride];
      if (byte >= kUe4m3Nan && byte != kNegativeZero) return illegal_scale(place, row, block, byte);
    }
  }
  return {};
}

}  // namespace

Result<std::int64_t> check_scale_bytes(const MatrixPlace& place, const Nvfp4Matrix& matrix) {
  const std::int64_t blocks = matrix.valid_cols / kBlock;
  const bool rows_run = matrix.scale_col_stride == 1;
  const bool gapless = rows_run && matrix.scale_row_stride == blocks;
  // Whichever way the bytes are contiguous: the whole matrix, rows, or columns of a transposed one.
  const std::int64_t runs = gapless ? 1 : (rows_run ? matrix.valid_rows : blocks);
  const std::int64_t length = gapless ? matrix.valid_rows * blocks : (rows_run ? blocks : matrix.valid_rows);
  const std::int64_t run_stride = rows_run ? matrix.scale_row_stride : matrix.scale_col_stride;
  const std::int64_t step = rows_run ? 1 : matrix.scale_row_stride;
  std::int64_t negative_zeros = 0;
  for (std::int64_t run = 0; run < runs; ++run) {
    const std::uint8_t* bytes = matrix.scales + run * run_stride;
    ScaleCounts counts;
    if (step == 1) {
      counts = count_run(bytes, length);
    } else {  // gate and up columns of a transposed matrix alternate
      for (std::int64_t i = 0; i < length; ++i) {
        counts.illegal += bytes[i * step] >= kUe4m3Nan && bytes[i * step] != kNegativeZero ? 1 : 0;
        counts.negative_zeros += bytes[i * step] == kNegativeZero ? 1 : 0;
      }
    }
    negative_zeros += counts.negative_zeros;
    if (counts.illegal != 0) TILEWRIGHT_TRY(find_illegal(place, matrix));
  }
  return negative_zeros;
}

}  // namespace tilewright
