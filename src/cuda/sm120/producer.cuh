// The producer warp: walks the tiles, hands each on, and fills the ring by bulk copies.
#pragma once

#include <cstdint>

#include "cuda/grouped/tile_walker.cuh"
#include "cuda/ptx/async_copy.cuh"
#include "cuda/ptx/barrier.cuh"
#include "cuda/ptx/grid_control.cuh"
#include "cuda/sm120/gemm_shape.cuh"

namespace tilewright::cuda::sm120 {

template <Schedule S>
class Producer {
  using Shape = GemmShape<S>;

 public:
  __device__ Producer(const GemmParams& params, std::uint32_t shared, int lane)
      : params_(params), shared_(shared), at_(Shape::layout(params)), lane_(lane), policy_(ptx::evict_first_policy()) {}

  __device__ void run() {
    if (params_.ranges_ready == 0) ptx::wait_for_dependencies();
    TileWalker<Shape, GemmParams> walker(params_);
    TilePart part = walker.next();
    if (!Shape::kPingpong || part.expert < 0) hand_on(part);
    // The first stages' weights are on their way before the kernel before this one has left its activations.
    const int early = part.expert < 0 ? 0 : min(part.k_end - part.k_begin, params_.stages);
    if (lane_ == 0) fill_early_weights(part, early);
    ptx::wait_for_dependencies();
    ptx::launch_dependents();
    if (lane_ == 0 && part.expert >= 0) fill_stages(part, early);
    __syncwarp();
#pragma unroll 1
    while (part.expert >= 0) {
      part = walker.next();
      if (!Shape::kPingpong || part.expert < 0) hand_on(part);
      if (lane_ == 0 && part.expert >= 0) fill_stages(part, 0);
      __syncwarp();
    }
    if constexpr (Shape::kPingpong) hand_on(part);  // each group is told that there is no more
  }

 private:
  __device__ void hand_on(const TilePart& part) {
    if (lane_ == 0) {
      const std::uint32_t offset = slot_.index * kBarrierBytes;
      ptx::barrier_wait(shared_ + at_.slot_empty + offset, slot_.parity ^ 1U);
      TileSlot{part.expert < 0 ? kNoExpert : part.expert,
               part.tile_m,
               part.row_begin,
               part.rows,
               part.parts_after,
               part.k_begin,
               part.k_end}
          .write(shared_ + at_.slots + slot_.index * kTileSlotBytes);
      ptx::barrier_arrive(shared_ + at_.slot_full + offset);
    }
    slot_.advance();
  }

  /// Bytes of a 128-row block in k-block `k_block`.
  __device__ std::uint32_t run_bytes(int k_block) const {
    return min(Shape::kStageSlabs, Shape::slabs(params_) - k_block * Shape::kStageSlabs) * kBlockBytes;
  }

  __device__ void fill_weights(const TilePart& part, int k_block, int stage) const {
    const std::int64_t block_bytes = std::int64_t{Shape::slabs(params_)} * kBlockBytes;
    const std::uint8_t* from = params_.weights + part.expert * params_.expert_stride +
                               part.tile_m * Shape::kTileBlocks * block_bytes + k_block * Shape::kRunBytes;
    const int blocks = Shape::blocks_of(params_, part.tile_m);
    const std::uint32_t to = shared_ + stage * Shape::kStageBytes;
    for (int block = 0; block < blocks; ++block) {
      ptx::bulk_copy(to + block * Shape::kRunBytes, from + block * block_bytes, run_bytes(k_block),
                     shared_ + at_.full + stage * kBarrierBytes, policy_);
    }
  }

  __device__ void fill_tokens(const TilePart& part, int k_block, int stage) const {
    const std::int64_t slab_stride = params_.group_rows / kTokenUnitRows * Shape::kTokenUnit;
    const std::uint8_t* from = params_.x + std::int64_t{k_block} * Shape::kStageSlabs * slab_stride +
                               std::int64_t{part.row_begin} / kTokenUnitRows * Shape::kTokenUnit;
    const std::uint32_t to = shared_ + stage * Shape::kStageBytes + Shape::kTokens;
    for (int slab = 0; slab < Shape::kStageSlabs && k_block * Shape::kStageSlabs + slab < Shape::slabs(params_);
         ++slab) {
      ptx::bulk_copy(to + slab * Shape::kTokenSlabBytes, from + slab * slab_stride, token_run(part),
                     shared_ + at_.full + stage * kBarrierBytes);
    }
  }

  __device__ static std::uint32_t token_run(const TilePart& part) {
    return (part.rows + kTokenUnitRows - 1) / kTokenUnitRows * Shape::kTokenUnit;
  }

  /// Waits for the stage and announces all that will land in it.
  __device__ void open_stage(const TilePart& part, int k_block, const StagePlace& stage) const {
    ptx::barrier_wait(shared_ + at_.empty + stage.index * kBarrierBytes, stage.parity ^ 1U);
    const std::uint32_t weights = Shape::blocks_of(params_, part.tile_m) * run_bytes(k_block);
    const std::uint32_t tokens = run_bytes(k_block) / kBlockBytes * token_run(part);
    ptx::barrier_arrive_expect(shared_ + at_.full + stage.index * kBarrierBytes, weights + tokens);
  }

  __device__ void fill_early_weights(const TilePart& part, int early) const {
    StagePlace stage;
    for (int i = 0; i < early; ++i) {
      open_stage(part, part.k_begin + i, stage);
      fill_weights(part, part.k_begin + i, stage.index);
      stage.advance(params_.stages);
    }
  }

  /// Of the first `early` k-blocks only the tokens are missing.
  __device__ void fill_stages(const TilePart& part, int early) {
#pragma unroll 1
    for (int k_block = part.k_begin; k_block < part.k_end; ++k_block) {
      if (k_block - part.k_begin >= early) {
        open_stage(part, k_block, stage_);
        fill_weights(part, k_block, stage_.index);
      }
      fill_tokens(part, k_block, stage_.index);
      stage_.advance(params_.stages);
      // A wait tells a phase of a stage from the one before it and no more. Under pingpong a group has not seen the
      // other's phases end, so it hears of a tile when they have: when the producer has opened the stages again.
      if (Shape::kPingpong && k_block - part.k_begin + 1 == min(part.k_end - part.k_begin, params_.stages)) {
        hand_on(part);
      }
    }
  }

  const GemmParams& params_;
  std::uint32_t shared_;
  RingLayout at_;
  int lane_;
  std::uint64_t policy_;
  StagePlace stage_;
  RingPlace<kTileSlots> slot_;
};

}  // namespace tilewright::cuda::sm120
