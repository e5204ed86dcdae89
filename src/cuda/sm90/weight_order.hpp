// The SM90 backend's order of NVFP4 weights.
//
// A slab is 64 weight rows x 64 k, 2,304 bytes: what one consumer warpgroup multiplies in four wgmma steps of k16.
//
//   codes   2,048 B   [thread 0..127][k16 step 0..3]   one 32-bit word: the thread's A fragment, 8 codes
//   scales    256 B   [warp 0..3][g 0..7][word 0..1]   one 32-bit word: rows g and g + 8 of two k16 steps
//
// Slabs of 64 rows follow each other along K, blocks of 64 rows after each other along N: a 64-row block over any run
// of slabs is one contiguous run of bytes, whatever tile a kernel takes. K and N are padded to 64 with zero codes.
//
// Code words. bf16 from e2m1: the sign to bit 15 and the three magnitude bits to bits 8-6, which is the value times
// 2^-126. Registers 0, 1, 2 of the fragment lie so that they are one AND (kCodeMask) of the word times 1, 8 and 64,
// both halves at once; register 3 takes the bits left over: its sign is bit 14, its magnitude bits 13, 11 and 10.
//
// Scale words. ue4m3 is re-encoded as E5M3 bytes, its subnormals normalised: value = 2^(e - 9) * (1 + m / 8). Step 0's
// bytes are in bits 4-11 (row g) and 20-27 (row g + 8), step 1's where a rotation right by 8 takes them there: one AND
// (kScaleMask) and OR (kScaleExponent) make two bf16 of 2^106 times the value. A zero scale has no E5M3 byte; the codes
// under it are packed as zeros.
//
// A product is thus the weight times 2^-20, which the epilogue's global scale undoes (kWeightUnbias).
#pragma once

#include <cstdint>

namespace tilewright::cuda::sm90 {

inline constexpr int kSlabRows = 64;
inline constexpr int kSlabK = 64;
inline constexpr int kStepK = 16;  ///< of one wgmma, and of one NVFP4 block
inline constexpr int kSlabSteps = kSlabK / kStepK;
inline constexpr int kSlabCodeBytes = kSlabRows * kSlabK / 2;
inline constexpr int kSlabScaleBytes = kSlabRows * kSlabSteps;
inline constexpr int kSlabBytes = kSlabCodeBytes + kSlabScaleBytes;
inline constexpr int kWarpScaleBytes = kSlabScaleBytes / 4;

inline constexpr std::uint32_t kCodeMask = 0x81C081C0U;
inline constexpr std::uint32_t kScaleMask = 0x0FF00FF0U;
inline constexpr std::uint32_t kScaleExponent = 0x70007000U;
inline constexpr float kWeightUnbias = 0x1p20F;

constexpr std::int64_t slabs_of(std::int64_t k) { return (k + kSlabK - 1) / kSlabK; }
constexpr std::int64_t row_blocks_of(std::int64_t rows) { return (rows + kSlabRows - 1) / kSlabRows; }
constexpr std::int64_t matrix_bytes(std::int64_t rows, std::int64_t k) {
  return row_blocks_of(rows) * slabs_of(k) * kSlabBytes;
}

/// The bits of one code (0..15) as the given half (0: k, 1: k + 1) of a fragment's register 0..3.
constexpr std::uint32_t place_code(std::uint32_t code, int fragment_register, int half) {
  const std::uint32_t sign = code >> 3U & 1U;
  const std::uint32_t magnitude = code & 7U;
  const std::uint32_t bits = fragment_register == 3
                                 ? sign << 14U | (magnitude >> 2U) << 13U | (magnitude & 3U) << 10U
                                 : (sign << 15U | magnitude << 6U) >> static_cast<unsigned>(3 * fragment_register);
  return bits << static_cast<unsigned>(16 * half);
}

/// The E5M3 byte of a ue4m3 byte in 0x01..0x7E.
constexpr std::uint32_t e5m3_of(std::uint32_t ue4m3) {
  if (ue4m3 >= 8) return ue4m3 + 16;                    // exponent e - 7 + 9, the mantissa stays
  if (ue4m3 >= 4) return 2U << 3U | (ue4m3 - 4U) * 2U;  // 2^-7 * (1 + (m - 4) / 4)
  if (ue4m3 >= 2) return 1U << 3U | (ue4m3 - 2U) * 4U;  // 2^-8 * (1 + (m - 2) / 2)
  return 0;                                             // 2^-9
}

/// An E5M3 byte in its place of a scale word: row half 0 (g) or 1 (g + 8), step parity 0 or 1.
constexpr std::uint32_t place_scale(std::uint32_t e5m3, int row_half, int parity) {
  const unsigned shift = static_cast<unsigned>(4 + 16 * row_half + 8 * parity);
  return shift <= 24 ? e5m3 << shift : e5m3 << shift | e5m3 >> (32U - shift);
}

}  // namespace tilewright::cuda::sm90
