// What a consumer warp does with one slab of w4a16: its units of 16 weight rows times its columns of 8 tokens in bf16.
//
// A lane loads 16 bytes of a unit's codes for a step, 8 of its scales (a quad reads the same ones), 16 of a column's
// tokens for two MMAs. Two units at a time are decoded for a step, then multiplied by all columns. With 128 sums the
// two steps are a loop: unrolled, ptxas decodes ahead and spills.
#pragma once

#include <cstdint>

#include "cuda/ptx/shared_load.cuh"
#include "cuda/sm120/bf16_mma.cuh"
#include "cuda/sm120/gemm_shape.cuh"

namespace tilewright::cuda::sm120 {

template <Schedule S>
class Bf16Slab {
  using Shape = GemmShape<S>;
  static constexpr bool kTight = accumulators(S) >= 128;
  static constexpr int kUnrolled = kTight ? 1 : 2;  ///< steps
  static constexpr int kTogether = Shape::kUnits > 1 ? 2 : 1;  ///< units
  static constexpr int kPair = Shape::kColumns > 1 ? 2 : 1;    ///< columns whose MMAs take turns
  static_assert(Shape::kUnits % kTogether == 0);

 public:
  using Sums = float[Shape::kUnits][Shape::kColumns][4];

  /// Finds a lane's operands in stage 0, from those of its warp: its first unit and its first column.
  __device__ Bf16Slab(std::uint32_t weights, std::uint32_t tokens, int lane)
      : weights_(weights + lane * 16),
        weight_scales_(weights + kUnitCodeBytes + lane / 4 * 16),
        tokens_(tokens + lane * 16),
        selector_(Bf16Mma::scale_selector(lane)) {}

  /// Adds slab `slab` of the stage at `offset`.
  __device__ __forceinline__ void multiply(std::uint32_t offset, int slab, Sums& sums) const {
    const std::uint32_t tokens = tokens_ + offset + slab * Shape::kTokenSlabBytes;
#pragma unroll
    for (int unit = 0; unit < Shape::kUnits; unit += kTogether) {
      const std::uint32_t place = offset + slab * kBlockBytes + unit * kUnitBytes;
#pragma unroll kUnrolled
      for (int step = 0; step < 2; ++step) {
        Bf16Mma::Weights weights[kTogether];
#pragma unroll
        for (int i = 0; i < kTogether; ++i) decode(place + i * kUnitBytes, step, weights[i]);
        multiply_step(weights, tokens + step * 2 * kBf16LoadBytes, sums + unit);
      }
    }
  }

 private:
  __device__ __forceinline__ void decode(std::uint32_t unit, int step, Bf16Mma::Weights& weights) const {
    std::uint32_t scales[2];  // of rows g and g + 8
    std::uint32_t codes[4];
    ptx::load_shared_8(weight_scales_ + unit + step * 8, scales);
    ptx::load_shared_16(weights_ + unit + step * kStepCodeBytes, codes);
    Bf16Mma::decode(codes, scales[0], scales[1], selector_, weights);
  }

  __device__ __forceinline__ static void multiply_step(const Bf16Mma::Weights (&weights)[kTogether],
                                                       std::uint32_t from, float (*sums)[Shape::kColumns][4]) {
#pragma unroll
    for (int column = 0; column < Shape::kColumns; column += kPair) {
#pragma unroll
      for (int load = 0; load < 2; ++load) {
        std::uint32_t tokens[kPair][4];  // of MMAs 2 * load and 2 * load + 1
#pragma unroll
        for (int i = 0; i < kPair; ++i) {
          ptx::load_shared_16(from + (column + i) * kBf16UnitBytes + load * kBf16LoadBytes, tokens[i]);
        }
#pragma unroll
        for (int j = 0; j < 2; ++j) {
#pragma unroll
          for (int i = 0; i < kTogether * kPair; ++i) {
            Bf16Mma::run(sums[i / kPair][column + i % kPair], weights[i / kPair], 2 * load + j, tokens[i % kPair] + 2 * j);
          }
        }
      }
    }
  }

  std::uint32_t weights_;        ///< codes
  std::uint32_t weight_scales_;  ///< of the lane's quad
  std::uint32_t tokens_;
  std::uint32_t selector_;
};

}  // namespace tilewright::cuda::sm120
