// The MMA of w4a16: weights decoded to bf16 in registers, exact, then mma.sync m16n8k16 into fp32. The same
// instructions on SM90 and on SM120.
//
// A code's sign at bit 15 and its magnitude at bits 8 to 6 are, as bf16, 2^-126 of its value. A scale's byte four bits
// up is 2^-120 of its value. A scale is brought to 2^119 of its value (448 * 2^119 is below 2^128), so a product is
// 2^-7 of the weight, between 2^-17 and 21, and its 6 significant bits fit bf16's 8.
#pragma once

#include <cstdint>

#include "cuda/ptx/bf16_pair.cuh"
#include "cuda/ptx/block_scaled_mma.cuh"

namespace tilewright::cuda::sm120 {

struct Bf16Mma {
  static constexpr float kUnbias = 0x1p7F;  ///< what the sums are to be multiplied by
  static constexpr bool kTimed = false;     ///< whether the kernel counts its mainloops' cycles

  /// A unit's weights of a step as a lane has them: pair j of register i of the fragment.
  using Weights = std::uint32_t[4][4];

  /// A lane's selector of its scales' bytes, for scales(): codes of k 8t .. 8t+7 belong to scale t / 2 of a step. Twice
  /// a byte and a byte of zeros: the sign of the same one, which a scale does not have.
  __device__ static std::uint32_t scale_selector(int lane) { return lane % 4 < 2 ? 0xC480U : 0xD591U; }

  /// Decodes a0 .. a3 of a step under the scales of rows g and g + 8.
  __device__ __forceinline__ static void decode(const std::uint32_t (&codes)[4], std::uint32_t row, std::uint32_t row8,
                                                std::uint32_t selector, Weights& weights) {
    const std::uint32_t low = scales(row, row8, selector);
    const std::uint32_t high = scales(row, row8, selector + 0x2222U);  // those 32 higher: scale 2 + t / 2
    decode(codes[0], ptx::broadcast_half<0>(low), weights[0]);
    decode(codes[1], ptx::broadcast_half<1>(low), weights[1]);
    decode(codes[2], ptx::broadcast_half<0>(high), weights[2]);
    decode(codes[3], ptx::broadcast_half<1>(high), weights[3]);
  }

  /// Adds MMA `j` of a step; `tokens` are its b0 and b1.
  __device__ __forceinline__ static void run(float (&sums)[4], const Weights& weights, int j,
                                             const std::uint32_t* tokens) {
    ptx::mma_bf16(sums, weights[0][j], weights[1][j], weights[2][j], weights[3][j], tokens[0], tokens[1]);
  }

 private:
  /// The selected scales of both rows times 2^119.
  __device__ __forceinline__ static std::uint32_t scales(std::uint32_t row, std::uint32_t row8,
                                                         std::uint32_t selector) {
    std::uint32_t bytes = 0;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(row), "r"(row8), "r"(selector));
    return ptx::multiply_bf16_pair(ptx::multiply_bf16_pair(bytes << 4U, 0x7F007F00U), 0x77807780U);  // 2^127, 2^112
  }

  /// Codes i and i + 4 of a register become pair i.
  __device__ __forceinline__ static void decode(std::uint32_t codes, std::uint32_t scale, std::uint32_t (&pairs)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t magnitudes = i < 2 ? codes << (6 - 4 * i) : codes >> (4 * i - 6);
      const std::uint32_t signs = codes << (12 - 4 * i);
      pairs[i] = ptx::multiply_bf16_pair((magnitudes & 0x01C001C0U) | (signs & 0x80008000U), scale);
    }
  }
};

}  // namespace tilewright::cuda::sm120
