// What a consumer warp does with one slab of w4a4: its units of 16 weight rows times its columns of 8 tokens.
//
// Every fragment is one 16-byte load: of weights for a step, of tokens for both steps of a slab. A register of scales
// serves two steps of a unit, and two steps of two columns.
#pragma once

#include <cstdint>

#include "cuda/ptx/shared_load.cuh"
#include "cuda/sm120/gemm_shape.cuh"

namespace tilewright::cuda::sm120 {

template <Schedule S, typename BlockMma>
class Nvfp4Slab {
  using Shape = GemmShape<S>;
  static constexpr int kPair = Shape::kColumns > 1 ? 2 : 1;  ///< columns that share a register of scales

 public:
  using Sums = float[Shape::kUnits][Shape::kColumns][4];

  /// Finds a lane's operands in stage 0, from those of its warp: its first unit and its first column.
  __device__ Nvfp4Slab(std::uint32_t weights, std::uint32_t tokens, int lane)
      : weights_(weights + lane * 16), weight_scales_(weights + kUnitCodeBytes + lane * 4), tokens_(tokens + lane * 16) {
    // Lane 4g + t has step t % 2 of column t / 2 of a pair.
    const int t = lane % 4;
    token_scales_ = tokens + kTokenUnitCodeBytes + t / 2 % kPair * kTokenUnitBytes + lane / 4 * 8 + t % 2 * 4;
  }

  /// Adds slab `slab` of the stage at `offset`.
  __device__ __forceinline__ void multiply(std::uint32_t offset, int slab, Sums& sums) const {
    std::uint32_t weights[Shape::kUnits][2][4];
    std::uint32_t weight_scales[Shape::kUnits];
#pragma unroll
    for (int unit = 0; unit < Shape::kUnits; ++unit) {
      const std::uint32_t place = offset + slab * kBlockBytes + unit * kUnitBytes;
      ptx::load_shared_16(weights_ + place, weights[unit][0]);
      ptx::load_shared_16(weights_ + place + kStepCodeBytes, weights[unit][1]);
      weight_scales[unit] = ptx::load_shared_4(weight_scales_ + place);
    }
#pragma unroll
    for (int column = 0; column < Shape::kColumns; column += kPair) {
      const std::uint32_t place = offset + slab * Shape::kTokenSlabBytes + column * kTokenUnitBytes;
      std::uint32_t tokens[kPair][4];
      ptx::load_shared_16(tokens_ + place, tokens[0]);
      if constexpr (kPair == 2) ptx::load_shared_16(tokens_ + place + kTokenUnitBytes, tokens[1]);
      const std::uint32_t token_scales = ptx::load_shared_4(token_scales_ + place);
#pragma unroll
      for (int unit = 0; unit < Shape::kUnits; ++unit) {
        multiply_pair(weights[unit], weight_scales[unit], tokens, token_scales, sums[unit] + column);
      }
    }
  }

 private:
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

  std::uint32_t weights_;        ///< codes
  std::uint32_t weight_scales_;
  std::uint32_t tokens_;         ///< codes
  std::uint32_t token_scales_;
};

}  // namespace tilewright::cuda::sm120
