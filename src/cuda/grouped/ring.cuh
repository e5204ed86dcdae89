// What a producer and its consumers share besides the stages: places in a ring, and the tile that is handed on.
#pragma once

#include <cstdint>

namespace tilewright::cuda {

/// Lanes that arrive for a warp when it lets go of a stage or a tile: one, after __syncwarp. compute-sanitizer's racecheck
/// does not follow that, and takes what the other lanes have read for unordered; for it, they all arrive
/// (TILEWRIGHT_RACECHECK).
#ifdef TILEWRIGHT_EVERY_LANE_ARRIVES
inline constexpr int kArrivingLanes = 32;
#else
inline constexpr int kArrivingLanes = 1;
#endif

/// A place in a ring of kSlots and the parity of its current phase.
template <int kSlots>
struct RingPlace {
  int index = 0;
  std::uint32_t parity = 0;

  __device__ void advance() {
    if (++index == kSlots) {
      index = 0;
      parity ^= 1U;
    }
  }
};

/// The same in a ring whose depth is known at run time.
struct StagePlace {
  int index = 0;
  std::uint32_t parity = 0;

  __device__ void advance(int stages) {
    if (++index == stages) {
      index = 0;
      parity ^= 1U;
    }
  }

  /// Past `count` stages that somebody else takes.
  __device__ void skip(int count, int stages) {
    index += count;
    const int laps = index / stages;
    index -= laps * stages;
    parity ^= static_cast<unsigned>(laps) & 1U;
  }
};

/// What the producer hands on of a tile part, in 16 bytes.
struct TileSlot {
  int expert = 0;
  int tile_m = 0;
  int row_begin = 0;
  int rows = 0;
  int parts_after = 0;
  int k_begin = 0;
  int k_end = 0;

  __device__ void write(std::uint32_t slot) const {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(slot), "r"(expert | tile_m << 16), "r"(row_begin),
                 "r"(rows | parts_after << 16), "r"(k_begin | k_end << 16)
                 : "memory");
  }

  /// The shuffles tell the compiler that all lanes have the same values.
  __device__ static TileSlot read(std::uint32_t slot) {
    int4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(slot)
                 : "memory");
    v.x = __shfl_sync(0xFFFFFFFFU, v.x, 0);
    v.y = __shfl_sync(0xFFFFFFFFU, v.y, 0);
    v.z = __shfl_sync(0xFFFFFFFFU, v.z, 0);
    v.w = __shfl_sync(0xFFFFFFFFU, v.w, 0);
    const auto low = [](int word) { return word & 0xFFFF; };
    const auto high = [](int word) { return static_cast<int>(static_cast<unsigned>(word) >> 16U); };
    return {low(v.x), high(v.x), v.y, low(v.z), high(v.z), low(v.w), high(v.w)};
  }
};
inline constexpr int kNoExpert = 0xFFFF;

}  // namespace tilewright::cuda
