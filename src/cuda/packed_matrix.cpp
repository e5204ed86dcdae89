#include "cuda/packed_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "cuda/sm90/weight_order.hpp"

namespace tilewright::cuda {
namespace {

using namespace sm90;

constexpr std::uint8_t kNegativeZero = 0x80;
constexpr std::uint8_t kLargestScale = 0x7E;

void add_bits(std::uint8_t* at, std::uint32_t bits) {
  std::uint32_t word = 0;
  std::memcpy(&word, at, sizeof(word));
  word |= bits;
  std::memcpy(at, &word, sizeof(word));
}

/// The 16 codes of one block of one row, and its scale, into a slab.
void place_block(std::uint8_t* slab, int row, int step, const std::uint8_t* codes, std::uint8_t scale) {
  const int warp = row / 16;
  const int g = row % 8;
  const int row_half = row % 16 / 8;
  for (int k = 0; k < kStepK; ++k) {
    const std::uint32_t code = k % 2 == 0 ? codes[k / 2] & 0xFU : codes[k / 2] >> 4U;
    const int thread = warp * 32 + g * 4 + k % 8 / 2;
    add_bits(slab + thread * 16 + step * 4, place_code(code, row_half + k / 8 * 2, k % 2));
  }
  std::uint8_t* word = slab + kSlabCodeBytes + warp * kWarpScaleBytes + g * 8 + step / 2 * 4;
  add_bits(word, place_scale(e5m3_of(scale), row_half, step % 2));
}

struct Row {
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
};

/// `blocks` is the row's 64-row block, `row` its place there.
Status place_row(std::uint8_t* block, int row, const Nvfp4Matrix& matrix, std::int64_t n, Row& buffers) {
  matrix.read_row(n, buffers.codes.data(), buffers.scales.data());
  for (std::int64_t b = 0; b < matrix.cols / kStepK; ++b) {
    const std::uint8_t scale = buffers.scales[static_cast<std::size_t>(b)];
    if (scale == 0 || scale == kNegativeZero) continue;  // no weight here: zero codes under no scale
    if (scale > kLargestScale) {
      return fail(ErrorCode::corrupt,
                  fmt::format("block scale 0x{:02x} of row {}, block {} is {}, not in 0x00..0x7e", scale, n, b,
                              (scale & 0x7F) == 0x7F ? "NaN" : "negative"),
                  "run `tilewright verify` on the checkpoint");
    }
    place_block(block + b / kSlabSteps * kSlabBytes, row, static_cast<int>(b % kSlabSteps),
                buffers.codes.data() + b * (kStepK / 2), scale);
  }
  return {};
}

}  // namespace

std::int64_t packed_rows(const Nvfp4Matrix& lower, const Nvfp4Matrix& upper) {
  return &lower == &upper ? upper.rows : 2 * upper.rows;
}

std::int64_t packed_bytes(const Nvfp4Matrix& lower, const Nvfp4Matrix& upper) {
  return matrix_bytes(packed_rows(lower, upper), upper.cols);
}

Status pack_matrix(const Nvfp4Matrix& lower, const Nvfp4Matrix& upper, std::uint8_t* out) {
  const bool joined = &lower != &upper;
  if (lower.rows != upper.rows || lower.cols != upper.cols || upper.cols % kStepK != 0 ||
      (joined && upper.rows % 8 != 0)) {
    return fail(
        ErrorCode::mismatch,
        fmt::format("gate is {} x {} and up {} x {}: they must agree, K be a multiple of 16 and their rows of 8",
                    lower.rows, lower.cols, upper.rows, upper.cols),
        "load the layer with a slice that keeps whole 16-blocks");
  }
  const std::int64_t rows = packed_rows(lower, upper);
  const std::int64_t block_bytes = slabs_of(upper.cols) * kSlabBytes;
  std::fill_n(out, packed_bytes(lower, upper), std::uint8_t{0});
  Row buffers;
  buffers.codes.resize(static_cast<std::size_t>(upper.cols / 2));
  buffers.scales.resize(static_cast<std::size_t>(upper.cols / kStepK));
  for (std::int64_t r = 0; r < rows; ++r) {
    const Nvfp4Matrix& matrix = joined && r % 16 < 8 ? lower : upper;
    const std::int64_t n = joined ? r / 16 * 8 + r % 8 : r;
    TILEWRIGHT_TRY(place_row(out + r / kSlabRows * block_bytes, static_cast<int>(r % kSlabRows), matrix, n, buffers));
  }
  return {};
}

}  // namespace tilewright::cuda
