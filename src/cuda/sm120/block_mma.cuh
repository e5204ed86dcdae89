// The MMA of w4a4 as a policy of the kernel: what a warp does with one fragment of weights and one of tokens.
//
//   NativeMma     the instruction of SM120 and SM121
//   EmulatedMma   the same registers and scale lanes on any GPU from SM80 on: every lane decodes its codes to fp16 with
//                 their scales and multiplies by the fp16 MMA. Exact but for the order and the fp32 sums: a code times
//                 its scale has 6 significant bits.
//   FeedOnly      takes the registers in and multiplies nothing: what is left is what feeds the tensor cores
#pragma once

#include <cstdint>

#include "cuda/ptx/block_scaled_mma.cuh"

namespace tilewright::cuda::sm120 {

struct NativeMma {
  static constexpr float kUnbias = 1.0F;  ///< what the sums are to be multiplied by
  static constexpr bool kTimed = false;   ///< whether the kernel counts its mainloops' cycles

  template <int kTidA, int kTidB>
  __device__ __forceinline__ static void run(float (&sums)[4], const std::uint32_t (&a)[4], const std::uint32_t* b,
                                             std::uint32_t scales_a, std::uint32_t scales_b) {
    ptx::mma_mxf4nvf4<kTidA, kTidB>(sums, a, b, scales_a, scales_b);
  }
};

class EmulatedMma {
 public:
  /// Decoded values are 2^-7 of what they stand for, on both sides.
  static constexpr float kUnbias = 0x1p14F;
  static constexpr bool kTimed = false;

  template <int kTidA, int kTidB>
  __device__ __forceinline__ static void run(float (&sums)[4], const std::uint32_t (&a)[4], const std::uint32_t* b,
                                             std::uint32_t scales_a, std::uint32_t scales_b) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const std::uint32_t row = __shfl_sync(kAll, scales_a, (lane & ~3) + 2 * kTidA);
    const std::uint32_t row8 = __shfl_sync(kAll, scales_a, (lane & ~3) + 2 * kTidA + 1);
    const std::uint32_t column = __shfl_sync(kAll, scales_b, (lane & ~3) + kTidB);
    // Codes of k 8t .. 8t+7 belong to scale t / 2, those 32 higher to scale 2 + t / 2.
    const int low = lane % 4 / 2;
    std::uint32_t decoded_a[4][4];
    std::uint32_t decoded_b[2][4];
    decode(a[0], scale_pair(row, low), decoded_a[0]);
    decode(a[1], scale_pair(row8, low), decoded_a[1]);
    decode(a[2], scale_pair(row, low + 2), decoded_a[2]);
    decode(a[3], scale_pair(row8, low + 2), decoded_a[3]);
    decode(b[0], scale_pair(column, low), decoded_b[0]);
    decode(b[1], scale_pair(column, low + 2), decoded_b[1]);
    // Which k an fp16 MMA takes does not matter, as long as both sides agree.
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      ptx::mma_f16(sums, decoded_a[0][i], decoded_a[1][i], decoded_a[2][i], decoded_a[3][i], decoded_b[0][i],
                   decoded_b[1][i]);
    }
  }

 private:
  static constexpr unsigned kAll = 0xFFFFFFFFU;

  /// Volatile: what the compiler would keep decoded for the next MMA does not fit the registers.
  __device__ __forceinline__ static std::uint32_t multiply(std::uint32_t x, std::uint32_t y) {
    std::uint32_t product = 0;
    asm volatile("mul.f16x2 %0, %1, %2;" : "=r"(product) : "r"(x), "r"(y));
    return product;
  }

  /// Scale `index` of a word, times 2^7, in both halves: its bits as fp16 are 2^-8 of its value, and 448 * 2^7 is below
  /// fp16's largest.
  __device__ __forceinline__ static std::uint32_t scale_pair(std::uint32_t word, int index) {
    const std::uint32_t half = (word >> (8 * index) & 0x7FU) << 7U;
    return multiply(half | half << 16U, 0x78007800U);  // 2^15
  }

  /// Codes i and i + 4 of a register become a pair, times 2^-7: the code's bits as fp16 are 2^-14 of its value, and the
  /// last bit of the product, 2^-17, is no less than fp16's smallest.
  __device__ __forceinline__ static void decode(std::uint32_t codes, std::uint32_t scale, std::uint32_t (&pairs)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t pair = codes >> (4 * i);
      pairs[i] = multiply((pair & 0x00070007U) << 9U | (pair & 0x00080008U) << 12U, scale);
    }
  }
};

struct FeedOnly {
  static constexpr float kUnbias = 1.0F;
  static constexpr bool kTimed = true;

  /// One exclusive or in the MMA's place, that waits for the same registers. Something has to come of them: a load whose
  /// value nothing takes is no instruction after ptxas. The steps go to sums of their own, or the scales that they share
  /// would cancel.
  template <int kTidA, int kTidB>
  __device__ __forceinline__ static void run(float (&sums)[4], const std::uint32_t (&a)[4], const std::uint32_t* b,
                                             std::uint32_t scales_a, std::uint32_t scales_b) {
    const std::uint32_t weights = a[0] ^ a[1] ^ a[2] ^ a[3] ^ scales_a;
    const std::uint32_t tokens = b[0] ^ b[1] ^ scales_b;
    // In one instruction, whatever the compiler would make of a chain of these.
    asm("lop3.b32 %0, %0, %1, %2, 0x96;" : "+f"(sums[kTidA]) : "r"(weights), "r"(tokens));
  }
};

}  // namespace tilewright::cuda::sm120
