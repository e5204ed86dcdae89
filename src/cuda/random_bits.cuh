// Random bits without state, for operands that measurements make on the device.
#pragma once

#include <cstdint>

namespace tilewright::cuda {

/// A fixed scramble of a counter (the finalizer of MurmurHash3, a public-domain function).
__device__ inline std::uint32_t scramble(std::uint32_t x) {
  x ^= x >> 16U;
  x *= 0x85EBCA6BU;
  x ^= x >> 13U;
  x *= 0xC2B2AE35U;
  return x ^ x >> 16U;
}

/// Two bf16 of either sign from 0.5 up to 2.
__device__ inline std::uint32_t random_bf16_pair(std::uint32_t counter) {
  return (scramble(counter) & 0x80FF80FFU) | 0x3F003F00U;
}

}  // namespace tilewright::cuda
