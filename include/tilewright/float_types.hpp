// 16-bit floating point: bf16 and fp16 as bit patterns, converted with round-to-nearest-even.
#pragma once

#include <bit>
#include <cstdint>

namespace tilewright {

/// A bfloat16 bit pattern: the upper half of an fp32.
struct bf16 {
  std::uint16_t bits = 0;
};

inline float to_float(bf16 x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16U); }

/// Nearest bf16, ties to even; NaN stays a (quiet) NaN.
inline bf16 to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return bf16{static_cast<std::uint16_t>((bits >> 16U) | 0x40U)};
  return bf16{static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U)};
}

/// x rounded to bf16 and back.
inline float round_to_bf16(float x) { return to_float(to_bf16(x)); }

/// An IEEE binary16 bit pattern.
struct fp16 {
  std::uint16_t bits = 0;
};

float to_float(fp16 x);
fp16 to_fp16(float x);

}  // namespace tilewright
