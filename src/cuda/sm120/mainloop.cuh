// A consumer warp's mainloop: its units of 16 weight rows times its columns of 8 tokens, over a run of k-blocks.
//
// Every fragment is one 16-byte load: of weights for a step, of tokens for both steps of a slab. A register of scales
// serves two steps of a unit, and two steps of two columns.
#pragma once

#include <cstdint>

#include "cuda/ptx/barrier.cuh"
#include "cuda/sm120/gemm_shape.cuh"

namespace tilewright::cuda::sm120 {

/// Shared-memory addresses of one lane in stage 0.
struct ConsumerAddresses {
  std::uint32_t weights = 0;       ///< codes of its first unit
  std::uint32_t weight_scales = 0;
  std::uint32_t tokens = 0;  ///< codes of its first column
  std::uint32_t token_scales = 0;
  std::uint32_t full = 0;  ///< barriers
  std::uint32_t empty = 0;
};

__device__ __forceinline__ void load_16(std::uint32_t from, std::uint32_t* words) {
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(from));
}

__device__ __forceinline__ std::uint32_t load_4(std::uint32_t from) {
  std::uint32_t word = 0;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(from));
  return word;
}

template <Schedule S, typename BlockMma>
class Mainloop {
  using Shape = GemmShape<S>;
  static constexpr int kPair = Shape::kColumns > 1 ? 2 : 1;  ///< columns that share a register of scales

 public:
  using Sums = float[Shape::kUnits][Shape::kColumns][4];

  __device__ static ConsumerAddresses addresses(std::uint32_t shared, const RingLayout& at, int warp, int lane) {
    const int row = warp / Shape::kGrid.columns;
    const int column = warp % Shape::kGrid.columns;
    ConsumerAddresses a;
    // A warp's units lie in one 128-row block.
    const int unit = row * Shape::kUnits;
    const std::uint32_t weights = shared + unit / 8 * Shape::kRunBytes + unit % 8 * kUnitBytes;
    a.weights = weights + lane * 16;
    a.weight_scales = weights + kUnitCodeBytes + lane * 4;
    const std::uint32_t tokens = shared + Shape::kTokens + column * Shape::kColumns * kTokenUnitBytes;
    a.tokens = tokens + lane * 16;
    // Lane 4g + t has step t % 2 of column t / 2 of a pair.
    const int t = lane % 4;
    a.token_scales = tokens + kTokenUnitCodeBytes + t / 2 % kPair * kTokenUnitBytes + lane / 4 * 8 + t % 2 * 4;
    a.full = shared + at.full;
    a.empty = shared + at.empty;
    return a;
  }

  /// Adds k-blocks [k_begin, k_end) to sums. `slabs` are those of all of K, whose last k-block may have fewer.
  __device__ __forceinline__ static void run(const ConsumerAddresses& at, StagePlace& stage, int stages, int k_begin,
                                             int k_end, int slabs, bool arrives, Sums& sums) {
#pragma unroll 1
    for (int k_block = k_begin; k_block < k_end; ++k_block) {
      ptx::barrier_wait(at.full + stage.index * kBarrierBytes, stage.parity);
      const std::uint32_t offset = stage.index * Shape::kStageBytes;
#pragma unroll
      for (int slab = 0; slab < Shape::kStageSlabs; ++slab) {
        if (slab == 0 || k_block * Shape::kStageSlabs + slab < slabs) multiply_slab(at, offset, slab, sums);
      }
      __syncwarp();
      if (arrives) ptx::barrier_arrive(at.empty + stage.index * kBarrierBytes);
      stage.advance(stages);
    }
  }

 private:
  static_assert(8 % Shape::kUnits == 0);

  __device__ __forceinline__ static void multiply_slab(const ConsumerAddresses& at, std::uint32_t offset, int slab,
                                                       Sums& sums) {
    std::uint32_t weights[Shape::kUnits][2][4];
    std::uint32_t weight_scales[Shape::kUnits];
#pragma unroll
    for (int unit = 0; unit < Shape::kUnits; ++unit) {
      const std::uint32_t place = offset + slab * kBlockBytes + unit * kUnitBytes;
      load_16(at.weights + place, weights[unit][0]);
      load_16(at.weights + place + kStepCodeBytes, weights[unit][1]);
      weight_scales[unit] = load_4(at.weight_scales + place);
    }
#pragma unroll
    for (int column = 0; column < Shape::kColumns; column += kPair) {
      const std::uint32_t place = offset + slab * Shape::kTokenSlabBytes + column * kTokenUnitBytes;
      std::uint32_t tokens[kPair][4];
      load_16(at.tokens + place, tokens[0]);
      if constexpr (kPair == 2) load_16(at.tokens + place + kTokenUnitBytes, tokens[1]);
      const std::uint32_t token_scales = load_4(at.token_scales + place);
#pragma unroll
      for (int unit = 0; unit < Shape::kUnits; ++unit) {
        multiply_pair(weights[unit], weight_scales[unit], tokens, token_scales, sums[unit] + column);
      }
    }
  }

  __device__ __forceinline__ static void multiply_pair(const std::uint32_t (&weights)[2][4], std::uint32_t weight_scales,
                                                       const std::uint32_t (&tokens)[kPair][4],
                                                       std::uint32_t token_scales, float (*sums)[4]) {
    BlockMma::template run<0, 0>(sums[0], weights[0], tokens[0], weight_scales, token_scales);
    if constexpr (kPair == 2) {
      BlockMma::template run<0, 2>(sums[1], weights[0], tokens[1], weight_scales, token_scales);
    }
    BlockMma::template run<1, 1>(sums[0], weights[1], tokens[0] + 2, weight_scales, token_scales);
    if constexpr (kPair == 2) {
      BlockMma::template run<1, 3>(sums[1], weights[1], tokens[1] + 2, weight_scales, token_scales);
    }
  }
};

}  // namespace tilewright::cuda::sm120
