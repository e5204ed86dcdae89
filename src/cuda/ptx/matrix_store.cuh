// stmatrix: four 8x8 matrices of 16-bit values from a warp's registers to shared memory, transposed.
#pragma once

#include <cstdint>

namespace tilewright::cuda::ptx {

/// Lane l gives the address of row l % 8 of matrix l / 8. Register i of lane 4g + t holds, of matrix i, elements
/// (row 2t, column g) in its low half and (2t + 1, g) in its high half: an MMA accumulator stored as its transpose.
__device__ inline void store_matrices_transposed(std::uint32_t row, std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                                 std::uint32_t d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row), "r"(a), "r"(b),
               "r"(c), "r"(d)
               : "memory");
}

}  // namespace tilewright::cuda::ptx
