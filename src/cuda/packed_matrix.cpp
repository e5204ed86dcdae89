#include "cuda/packed_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "cuda/sm120/fragment_order.hpp"
#include "cuda/sm90/weight_order.hpp"

namespace tilewright::cuda {
namespace {

using sm90::kSlabCodeBytes;
using sm90::kStepK;
using sm90::kWarpScaleBytes;

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
    add_bits(slab + thread * 16 + step * 4, sm90::place_code(code, row_half + k / 8 * 2, k % 2));
  }
  std::uint8_t* word = slab + kSlabCodeBytes + warp * kWarpScaleBytes + g * 8 + step / 2 * 4;
  add_bits(word, sm90::place_scale(sm90::e5m3_of(scale), row_half, step % 2));
}

struct Row {
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
};

/// Block `b` of packed row `r` of a matrix with `k` columns into its packed order.
void place(WeightOrder order, std::uint8_t* out, std::int64_t r, std::int64_t b, std::int64_t k,
           const std::uint8_t* codes, std::uint8_t scale) {
  if (order == WeightOrder::sm120) {
    const sm120::BlockPlace at = sm120::weight_place(r, b, sm120::slabs_of(k));
    std::memcpy(out + at.codes_low, codes, 4);
    std::memcpy(out + at.codes_high, codes + 4, 4);
    out[at.scale] = scale;
    return;
  }
  std::uint8_t* slab =
      out + (r / sm90::kSlabRows * sm90::slabs_of(k) + b / sm90::kSlabSteps) * std::int64_t{sm90::kSlabBytes};
  place_block(slab, static_cast<int>(r % sm90::kSlabRows), static_cast<int>(b % sm90::kSlabSteps), codes, scale);
}

/// Row `n` of `matrix` as packed row `r`.
Status place_row(WeightOrder order, std::uint8_t* out, std::int64_t r, const Nvfp4Matrix& matrix, std::int64_t n,
                 Row& buffers) {
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
    place(order, out, r, b, matrix.cols, buffers.codes.data() + b * (kStepK / 2), scale);
  }
  return {};
}

}  // namespace

std::int64_t packed_rows(const Nvfp4Matrix& lower, const Nvfp4Matrix& upper) {
  return &lower == &upper ? upper.rows : 2 * upper.rows;
}

std::int64_t packed_bytes(const Nvfp4Matrix& lower, const Nvfp4Matrix& upper, WeightOrder order) {
  const std::int64_t rows = packed_rows(lower, upper);
  return order == WeightOrder::sm90 ? sm90::matrix_bytes(rows, upper.cols) : sm120::matrix_bytes(rows, upper.cols);
}

Status pack_matrix(const Nvfp4Matrix& lower, const Nvfp4Matrix& upper, std::uint8_t* out, WeightOrder order) {
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
  std::fill_n(out, packed_bytes(lower, upper, order), std::uint8_t{0});
  Row buffers;
  buffers.codes.resize(static_cast<std::size_t>(upper.cols / 2));
  buffers.scales.resize(static_cast<std::size_t>(upper.cols / kStepK));
  for (std::int64_t r = 0; r < rows; ++r) {
    const Nvfp4Matrix& matrix = joined && r % 16 < 8 ? lower : upper;
    const std::int64_t n = joined ? r / 16 * 8 + r % 8 : r;
    TILEWRIGHT_TRY(place_row(order, out, r, matrix, n, buffers));
  }
  return {};
}

}  // namespace tilewright::cuda
