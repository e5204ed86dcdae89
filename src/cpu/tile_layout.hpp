// The CPU backend's tile order of NVFP4 weights.
//
// A strip is 16 rows of a matrix over its whole K. K is walked in groups of 64: one group is 576 contiguous bytes, nine
// cache lines, so that a strip is one sequential stream of whole lines:
//
//   scales   64 B   [block 0..3][row 0..15]                    ue4m3, as in the checkpoint
//   codes   512 B   [block 0..3][line 0..1][row 0..15][k 0..3]  one byte = two e2m1 codes
//
// In line p of a block the low nibble is k = 8p + kk and the high nibble k = 8p + 4 + kk: a 64-byte load (or two of 32)
// masked once and shifted once gives two vectors of 16 rows x 4 k, the operand shape of an integer dot product that
// adds groups of 4.
//
// GEMM1's strips of a gated expert hold gate in rows 0-7 and up in rows 8-15, so that the activation joins the two
// halves of one accumulator. K is padded to 64 and rows to whole strips with zero codes under zero scales.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewright::cpu {

inline constexpr int kStripRows = 16;
inline constexpr int kHalfStrip = kStripRows / 2;
inline constexpr int kGroupK = 64;
inline constexpr int kBlockK = 16;
inline constexpr int kGroupBlocks = kGroupK / kBlockK;
inline constexpr int kGroupScaleBytes = kGroupBlocks * kStripRows;
inline constexpr int kBlockCodeBytes = kStripRows * kBlockK / 2;
inline constexpr int kGroupBytes = kGroupScaleBytes + kGroupBlocks * kBlockCodeBytes;
static_assert(kGroupBytes == 576);

/// Groups that cover k elements.
constexpr std::int64_t groups_of(std::int64_t k) { return (k + kGroupK - 1) / kGroupK; }

/// Bytes of one strip over k elements.
constexpr std::int64_t strip_bytes(std::int64_t k) { return groups_of(k) * kGroupBytes; }

/// Offset within a group of the scale of (row, block).
constexpr int scale_offset(int row, int block) { return block * kStripRows + row; }

/// Offset within a group of the byte that holds element k (0..15) of (row, block); the high nibble where k & 4.
constexpr int code_offset(int row, int block, int k) {
  return kGroupScaleBytes + block * kBlockCodeBytes + (k / 8) * 64 + row * 4 + k % 4;
}

/// Every e2m1 code doubled (an integer) plus 12, so that it is unsigned: the weight operand of the dot products. The
/// 12 comes off again through a correction that depends on the activations alone.
inline constexpr std::uint8_t kWeightTable[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};
inline constexpr int kWeightOffset = 12;
inline constexpr float kWeightUnit = 0.5F;  ///< what one step of the doubled code is worth

// A ue4m3 byte shifted into an fp32's exponent field has the value times 2^-120, subnormals included; vector kernels
// accumulate with that factor and take it off once at the end.
inline constexpr int kScaleShift = 20;
inline constexpr float kScaleUnbias = 0x1p120F;

}  // namespace tilewright::cpu
