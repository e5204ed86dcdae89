// Arithmetic on two bf16 in a register.
#pragma once

#include <cstdint>

namespace tilewright::cuda::ptx {

/// Two products, each rounded to bf16. Subnormals are kept, as PTX says of its bf16 arithmetic.
__device__ __forceinline__ std::uint32_t multiply_bf16_pair(std::uint32_t x, std::uint32_t y) {
  std::uint32_t product = 0;
  asm("mul.bf16x2 %0, %1, %2;" : "=r"(product) : "r"(x), "r"(y));
  return product;
}

/// One half of a pair in both halves; ptxas makes it an operand modifier of the multiplication.
template <int kHalf>
__device__ __forceinline__ std::uint32_t broadcast_half(std::uint32_t pair) {
  std::uint32_t both = 0;
  if constexpr (kHalf == 0) {
    asm("{.reg .b16 lo, hi; mov.b32 {lo, hi}, %1; mov.b32 %0, {lo, lo};}" : "=r"(both) : "r"(pair));
  } else {
    asm("{.reg .b16 lo, hi; mov.b32 {lo, hi}, %1; mov.b32 %0, {hi, hi};}" : "=r"(both) : "r"(pair));
  }
  return both;
}

}  // namespace tilewright::cuda::ptx
