// NVFP4 quantization of 16 values by the exact recipe of tilewright/nvfp4.hpp, operation by operation: every one rounds
// to fp32 once, as on the CPU, so both get the same bits.
#pragma once

#include <cstdint>

#include "cuda/sm120/fragment_order.hpp"
#include "tilewright/nvfp4.hpp"

namespace tilewright::cuda::sm120 {

struct QuantizedBlock {
  std::uint32_t low;  ///< codes 0 to 7, the first in the lowest four bits
  std::uint32_t high;
  std::uint32_t scale;
};

/// The nearest ue4m3 byte, saturating; of values that are not below zero.
__device__ __forceinline__ std::uint32_t to_ue4m3(float x) {
  std::uint16_t pair = 0;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0F), "f"(x));
  return pair & 0x7FU;
}

__device__ __forceinline__ float from_ue4m3(std::uint32_t byte) {
  std::uint32_t halves = 0;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(static_cast<std::uint16_t>(byte)));
  float value = 0.0F;
  asm("{.reg .b16 lo, hi; mov.b32 {lo, hi}, %1; cvt.f32.f16 %0, lo;}" : "=f"(value) : "r"(halves));
  return value;
}

/// The number of rounding boundaries passed; a boundary itself goes to the even neighbour.
__device__ __forceinline__ std::uint32_t to_e2m1(float x) {
  const float m = fabsf(x);
  const std::uint32_t code = (m > 0.25F ? 1U : 0U) + (m >= 0.75F ? 1U : 0U) + (m > 1.25F ? 1U : 0U) +
                             (m >= 1.75F ? 1U : 0U) + (m > 2.5F ? 1U : 0U) + (m >= 3.5F ? 1U : 0U) + (m > 5.0F ? 1U : 0U);
  return m != m ? 7U : code | ((__float_as_uint(x) >> 28U) & 8U);
}

/// A block's scale, and what its values are multiplied by before they are encoded.
struct DeviceBlockScale {
  std::uint32_t scale;
  float code_multiplier;
};

/// `largest` is the largest magnitude, NaN only if all values are; `quant_multiplier` is S, the reciprocal of the input
/// scale.
__device__ __forceinline__ DeviceBlockScale scale_block(float largest, float quant_multiplier) {
  constexpr float kLargest = 3.402823466e38F;
  if (largest == 0.0F) return {0, 0.0F};
  const std::uint32_t scale = to_ue4m3(__fmul_rn(largest, __fmul_rn(quant_multiplier, 1.0F / kE2m1Max)));
  const float multiplier = __frcp_rn(__fmul_rn(from_ue4m3(scale), __frcp_rn(quant_multiplier)));
  return {scale, multiplier <= kLargest ? multiplier : kLargest};
}

/// Of values of which NaN takes part only if all are.
template <int kCount>
__device__ __forceinline__ float largest_magnitude(const float (&x)[kCount]) {
  float largest = fabsf(x[0]);
#pragma unroll
  for (int i = 1; i < kCount; ++i) largest = fmaxf(largest, fabsf(x[i]));
  return largest;
}

/// Eight codes, the first in the lowest four bits.
__device__ __forceinline__ std::uint32_t encode_eight(const float* x, float code_multiplier) {
  std::uint32_t codes = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) codes |= to_e2m1(__fmul_rn(x[i], code_multiplier)) << (4 * i);
  return codes;
}

__device__ __forceinline__ QuantizedBlock quantize_block(const float (&x)[kBlock], float quant_multiplier) {
  const DeviceBlockScale scale = scale_block(largest_magnitude(x), quant_multiplier);
  return {encode_eight(x, scale.code_multiplier), encode_eight(x + 8, scale.code_multiplier), scale.scale};
}

/// Writes a block of a grouped row into activations in tile order.
__device__ __forceinline__ void store_block(std::uint8_t* tiles, const BlockPlace& place, const QuantizedBlock& block) {
  *reinterpret_cast<std::uint32_t*>(tiles + place.codes_low) = block.low;
  *reinterpret_cast<std::uint32_t*>(tiles + place.codes_high) = block.high;
  tiles[place.scale] = static_cast<std::uint8_t>(block.scale);
}

}  // namespace tilewright::cuda::sm120
