// bf16 activations on their way into tile order (fragment_order.hpp).
#pragma once

#include <cstdint>

#include "cuda/sm120/fragment_order.hpp"

namespace tilewright::cuda::sm120 {

/// Writes a lane's values of a step, in their order two a word: k 8t .. 8t+7 and those 32 higher. `place` is
/// bf16_token_place.
__device__ __forceinline__ void store_chunks(std::uint8_t* tiles, std::int64_t place, const uint4& low,
                                             const uint4& high) {
  constexpr unsigned kLowHalves = 0x5410U;
  constexpr unsigned kHighHalves = 0x7632U;
  auto* to = reinterpret_cast<uint4*>(tiles + place);
  to[0] = make_uint4(__byte_perm(low.x, low.z, kLowHalves), __byte_perm(high.x, high.z, kLowHalves),
                     __byte_perm(low.x, low.z, kHighHalves), __byte_perm(high.x, high.z, kHighHalves));
  to[kBf16LoadBytes / 16] = make_uint4(__byte_perm(low.y, low.w, kLowHalves), __byte_perm(high.y, high.w, kLowHalves),
                                       __byte_perm(low.y, low.w, kHighHalves), __byte_perm(high.y, high.w, kHighHalves));
}

}  // namespace tilewright::cuda::sm120
