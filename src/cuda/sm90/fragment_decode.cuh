// From packed NVFP4 words to wgmma's A fragment in bf16 (layout and constants: weight_order.hpp).
//
// A fragment is 8 weights: 3 ANDs for three registers, 2 shifts and 3 logic operations for the fourth, 4 multiplies by
// the scale. The multiplications by 8, 64 and 2 are IMADs, which leave the ALU pipe to the logic.
#pragma once

#include <cstdint>

#include "cuda/ptx/bf16_pair.cuh"
#include "cuda/sm90/weight_order.hpp"

namespace tilewright::cuda::sm90 {

/// The scales of rows g and g + 8 as two bf16; `rotated` is a scale word, rotated right by 8 for odd steps. `exponent`
/// is kScaleExponent in a register: an instruction has room for one literal, and AND and OR are one instruction only
/// so.
__device__ __forceinline__ std::uint32_t scale_pair(std::uint32_t rotated, std::uint32_t exponent) {
  return (rotated & kScaleMask) | exponent;
}

/// The fragment of one k16 step.
__device__ __forceinline__ void decode_fragment(std::uint32_t codes, std::uint32_t scales, std::uint32_t* fragment) {
  const std::uint32_t lower = ptx::broadcast_half<0>(scales);
  const std::uint32_t upper = ptx::broadcast_half<1>(scales);
  const std::uint32_t fourth =
      ((codes * 2U) & 0x80008000U) | ((codes >> 5U) & 0x01000100U) | ((codes >> 4U) & 0x00C000C0U);
  // Exact: 2 significant bits times 4.
  fragment[0] = ptx::multiply_bf16_pair(codes & kCodeMask, lower);
  fragment[1] = ptx::multiply_bf16_pair((codes * 8U) & kCodeMask, upper);
  fragment[2] = ptx::multiply_bf16_pair((codes * 64U) & kCodeMask, lower);
  fragment[3] = ptx::multiply_bf16_pair(fourth, upper);
}

/// A thread's share of a slab as it lies in shared memory.
struct SlabWords {
  uint4 codes;   ///< a word a step
  uint2 scales;  ///< a word for two steps
};

__device__ __forceinline__ SlabWords load_slab(std::uint32_t codes, std::uint32_t scales) {
  SlabWords words;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words.codes.x), "=r"(words.codes.y), "=r"(words.codes.z), "=r"(words.codes.w)
               : "r"(codes));
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(words.scales.x), "=r"(words.scales.y) : "r"(scales));
  return words;
}

/// The fragment of step kStep.
template <int kStep>
__device__ __forceinline__ void decode_step(const SlabWords& words, std::uint32_t exponent, std::uint32_t* fragment) {
  const std::uint32_t scales = kStep < 2 ? words.scales.x : words.scales.y;
  const std::uint32_t codes = kStep == 0   ? words.codes.x
                              : kStep == 1 ? words.codes.y
                              : kStep == 2 ? words.codes.z
                                           : words.codes.w;
  decode_fragment(codes, scale_pair(kStep % 2 == 0 ? scales : __funnelshift_r(scales, scales, 8), exponent), fragment);
}

/// The fragments of steps kFirst to kFirst + kCount - 1.
template <int kFirst, int kCount>
__device__ __forceinline__ void decode_steps(const SlabWords& words, std::uint32_t exponent, std::uint32_t* fragments) {
  decode_step<kFirst>(words, exponent, fragments);
  if constexpr (kCount > 1) decode_steps<kFirst + 1, kCount - 1>(words, exponent, fragments + 4);
}

}  // namespace tilewright::cuda::sm90
