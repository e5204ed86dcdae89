// Loads of 16, 8 and 4 bytes from shared memory, in the order in which they are written among other volatile code.
#pragma once

#include <cstdint>

namespace tilewright::cuda::ptx {

__device__ __forceinline__ void load_shared_16(std::uint32_t from, std::uint32_t* words) {
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(from));
}

__device__ __forceinline__ void load_shared_8(std::uint32_t from, std::uint32_t* words) {
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(words[0]), "=r"(words[1]) : "r"(from));
}

__device__ __forceinline__ std::uint32_t load_shared_4(std::uint32_t from) {
  std::uint32_t word = 0;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(from));
  return word;
}

}  // namespace tilewright::cuda::ptx
