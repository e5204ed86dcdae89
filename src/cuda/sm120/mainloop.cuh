// A consumer warp's mainloop over a run of k-blocks: it waits for each stage, multiplies its slabs and lets go of it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cuda/ptx/barrier.cuh"
#include "cuda/sm120/bf16_slab.cuh"
#include "cuda/sm120/gemm_shape.cuh"
#include "cuda/sm120/nvfp4_slab.cuh"

namespace tilewright::cuda::sm120 {

template <Schedule S, typename BlockMma>
class Mainloop {
  using Shape = GemmShape<S>;
  using Slab = std::conditional_t<S.precision == Precision::w4a4, Nvfp4Slab<S, BlockMma>, Bf16Slab<S>>;
  static_assert((S.precision == Precision::w4a16) == std::is_same_v<BlockMma, Bf16Mma>);
  static_assert(8 % Shape::kUnits == 0, "a warp's units lie in one 128-row block");

 public:
  using Sums = typename Slab::Sums;

  __device__ Mainloop(std::uint32_t shared, const RingLayout& at, int warp, int lane)
      : slab_(weights_of(shared, warp), tokens_of(shared, warp), lane),
        full_(shared + at.full) {}

  /// Adds k-blocks [k_begin, k_end) to sums. `slabs` are those of all of K, whose last k-block may have fewer.
  __device__ __forceinline__ void run(StagePlace& stage, int stages, int k_begin, int k_end, int slabs, bool arrives,
                                      Sums& sums) const {
#pragma unroll 1
    for (int k_block = k_begin; k_block < k_end; ++k_block) {
      ptx::barrier_wait(full_ + stage.index * kBarrierBytes, stage.parity);
      const std::uint32_t offset = stage.index * Shape::kStageBytes;
#pragma unroll
      for (int slab = 0; slab < Shape::kStageSlabs; ++slab) {
        if (slab == 0 || k_block * Shape::kStageSlabs + slab < slabs) slab_.multiply(offset, slab, sums);
      }
      __syncwarp();
      if (arrives) ptx::barrier_arrive(full_ + (stages + stage.index) * kBarrierBytes);
      stage.advance(stages);
    }
  }

 private:
  __device__ static std::uint32_t weights_of(std::uint32_t shared, int warp) {
    const int unit = warp / Shape::kGrid.columns * Shape::kUnits;
    return shared + unit / 8 * Shape::kRunBytes + unit % 8 * kUnitBytes;
  }
  __device__ static std::uint32_t tokens_of(std::uint32_t shared, int warp) {
    return shared + Shape::kTokens + warp % Shape::kGrid.columns * Shape::kColumns * Shape::kTokenUnit;
  }

  Slab slab_;
  std::uint32_t full_;  ///< barriers; behind them those of `empty`
};

}  // namespace tilewright::cuda::sm120
