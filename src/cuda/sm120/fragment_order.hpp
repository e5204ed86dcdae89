// The SM120 backend's order of operands: what a lane feeds to one MMA lies together.
//
// The instruction is mma.sync m16n8k64 kind::mxf4nvf4 with one ue4m3 scale for 16 k. With g = lane / 4 and t = lane % 4
// a lane holds, eight codes a register, the lowest k in the lowest four bits:
//   A   a0: row g, k 8t .. 8t+7   a1: row g+8, the same k   a2, a3: the same rows, k 32 higher
//   B   b0: column g, k 8t .. 8t+7   b1: k 32 higher
// and in one register the four scales of a row's or column's 64 k, byte i that of k 16i .. 16i+15. The instruction
// takes A's from lanes 4g + 2*tid (row g) and 4g + 1 + 2*tid (row g + 8), B's from lanes 4g + tid (column g), where tid
// is an immediate: so one register of each lane serves two steps of k64 for A, and two steps of two column blocks for
// B.
//
// A slab is 128 k, two steps.
//
//   weights   unit of 16 rows x a slab, 1,152 B:  codes [step 0..1][lane 0..31] 16 bytes, a0 .. a3
//                                                 scales [lane] 4 bytes: of row g + 8 * (t % 2), of step t / 2
//             [block of 128 rows][slab][unit 0..7]: a block over any run of slabs is one run of bytes
//   tokens    unit of 8 grouped rows x a slab, 576 B:  codes [lane] 16 bytes, b0 and b1 of step 0, then of step 1
//                                                      scales [row g][step] 4 bytes
//             [slab][unit]: a tile's rows of a slab are one run of bytes
//
// N is padded to whole blocks and K to whole slabs with zero codes under zero scales.
//
// w4a16 has the same weights. A lane decodes codes j and j + 4 of a register to a pair of bf16, and mma.sync m16n8k16
// number j of a step multiplies the pairs j of a0 .. a3: which k it takes for which does not matter, as long as the
// tokens' pairs are of the same ones. So b0 of MMA j is k 8t + j and 8t + j + 4, and b1 k 32 higher.
//
//   tokens    unit of 8 grouped rows x a slab in bf16, 2,048 B:  [step][MMAs 0 and 1, 2 and 3][lane] 16 bytes, b0
//             and b1 of one MMA, then of the other: registers in a row, as the instruction takes them
//             [slab][unit]; K is padded with zeros, which may not be left out: a code of zero times NaN is NaN
#pragma once

#include <cstdint>

namespace tilewright::cuda::sm120 {

inline constexpr int kSlabK = 128;
inline constexpr int kStepK = 64;
inline constexpr int kScaleK = 16;
inline constexpr int kUnitRows = 16;
inline constexpr int kBlockRows = 128;
inline constexpr int kUnitCodeBytes = kUnitRows * kSlabK / 2;
inline constexpr int kStepCodeBytes = kUnitCodeBytes / 2;
inline constexpr int kUnitBytes = kUnitCodeBytes + kUnitRows * kSlabK / kScaleK;
inline constexpr int kBlockBytes = kBlockRows / kUnitRows * kUnitBytes;  ///< of a block's slab

inline constexpr int kTokenUnitRows = 8;
inline constexpr int kTokenUnitCodeBytes = kTokenUnitRows * kSlabK / 2;
inline constexpr int kTokenUnitBytes = kTokenUnitCodeBytes + kTokenUnitRows * kSlabK / kScaleK;

inline constexpr int kChunkK = 8;  ///< consecutive k of a lane
inline constexpr int kBf16UnitBytes = kTokenUnitRows * kSlabK * 2;
inline constexpr int kBf16LoadBytes = 32 * 16;  ///< of a warp's tokens for two MMAs

constexpr std::int64_t slabs_of(std::int64_t k) { return (k + kSlabK - 1) / kSlabK; }
constexpr std::int64_t row_blocks_of(std::int64_t rows) { return (rows + kBlockRows - 1) / kBlockRows; }
constexpr std::int64_t matrix_bytes(std::int64_t rows, std::int64_t k) {
  return row_blocks_of(rows) * slabs_of(k) * kBlockBytes;
}
/// Activations of `grouped` rows, a multiple of 8, in tile order.
constexpr std::int64_t token_bytes(std::int64_t grouped, std::int64_t k) {
  return slabs_of(k) * (grouped / kTokenUnitRows) * kTokenUnitBytes;
}

/// Bytes from the start of a matrix in tile order to block `b` (of 16 k) of weight row `n`: its scale, and its codes'
/// first and second half, four bytes each.
struct BlockPlace {
  std::int64_t codes_low;
  std::int64_t codes_high;
  std::int64_t scale;
};
constexpr BlockPlace weight_place(std::int64_t n, std::int64_t b, std::int64_t slabs) {
  const std::int64_t unit = (n / kBlockRows * slabs + b / 8) * kBlockBytes + n % kBlockRows / kUnitRows * kUnitBytes;
  const auto row = static_cast<int>(n % kUnitRows);
  const auto step = static_cast<int>(b % 8 / 4);
  const auto block = static_cast<int>(b % 4);  // of the step
  const int g = row % 8;
  const int lane = 4 * g + block % 2 * 2;
  const int in_lane = (row / 8 + block / 2 * 2) * 4;  // register a0 .. a3
  const std::int64_t codes = unit + step * kStepCodeBytes + lane * 16 + in_lane;
  return {codes, codes + 16, unit + kUnitCodeBytes + (4 * g + row / 8 + 2 * step) * 4 + block};
}
/// The same of grouped row `r` of activations that have room for `grouped` rows.
constexpr BlockPlace token_place(std::int64_t r, std::int64_t b, std::int64_t grouped) {
  const std::int64_t unit = (b / 8 * (grouped / kTokenUnitRows) + r / kTokenUnitRows) * kTokenUnitBytes;
  const auto g = static_cast<int>(r % kTokenUnitRows);
  const auto step = static_cast<int>(b % 8 / 4);
  const auto block = static_cast<int>(b % 4);
  const std::int64_t codes = unit + (4 * g + block % 2 * 2) * 16 + step * 8 + block / 2 * 4;
  return {codes, codes + 16, unit + kTokenUnitCodeBytes + g * 8 + step * 4 + block};
}

/// bf16 activations of `grouped` rows in tile order, for w4a16.
constexpr std::int64_t bf16_token_bytes(std::int64_t grouped, std::int64_t k) {
  return slabs_of(k) * (grouped / kTokenUnitRows) * kBf16UnitBytes;
}
/// Bytes from their start to what lane t of grouped row `r` has in step `s` of K: 16 bytes, and as many kBf16LoadBytes
/// further, which hold k 8t .. 8t+7 of the step and k 32 higher.
constexpr std::int64_t bf16_token_place(std::int64_t r, std::int64_t s, std::int64_t t, std::int64_t grouped) {
  const std::int64_t unit = (s / 2 * (grouped / kTokenUnitRows) + r / kTokenUnitRows) * kBf16UnitBytes;
  return unit + s % 2 * 2 * kBf16LoadBytes + (4 * (r % kTokenUnitRows) + t) * 16;
}
/// Bytes to the value at `k`.
constexpr std::int64_t bf16_value_place(std::int64_t r, std::int64_t k, std::int64_t grouped) {
  const std::int64_t chunk = bf16_token_place(r, k / kStepK, k % 32 / kChunkK, grouped);
  const auto i = static_cast<int>(k % kChunkK);
  const auto b = static_cast<int>(k % kStepK / 32);
  return chunk + i % 4 / 2 * kBf16LoadBytes + i % 2 * 8 + b * 4 + i / 4 * 2;
}

}  // namespace tilewright::cuda::sm120
