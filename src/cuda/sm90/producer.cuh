// The producer warps: walk the tiles, fill the ring, hand each tile on.
//
// One warp streams weights: a lane issues a bulk copy for each 64-row block of a stage, and never waits for tokens.
// Tokens in tile order come by bulk copies too, one a slab, from a lane of another warp. Otherwise two warps gather
// them, 16 bytes a copy: four lanes share a row and take half of its 128 bytes at a time, so that a lane has few rows
// to remember. A row's chunks go where the 128-byte swizzle has them (chunk number XOR row % 8).
//
// wgmma reads through the async proxy what these copies write through the generic one, and a fence has to stand
// between. The fourth warp is there for it: the copies arrive on `landed` by themselves, it waits for that, fences, and
// arrives on `full`. So no copy is waited for by the warp that issues it, all stages of the ring can be in flight, and
// the consumers, whose wgmmas a fence would drain, need none.
#pragma once

#include <cstdint>

#include "cuda/grouped/tile_walker.cuh"
#include "cuda/ptx/async_copy.cuh"
#include "cuda/ptx/barrier.cuh"
#include "cuda/ptx/grid_control.cuh"
#include "cuda/sm90/gemm_params.hpp"
#include "cuda/sm90/gemm_shape.cuh"

namespace tilewright::cuda::sm90 {

// Of the producer warps.
inline constexpr int kWeightWarp = 0;
inline constexpr int kLandingWarp = 1;
inline constexpr int kFirstTokenWarp = 2;
inline constexpr int kTokenWarps = 2;

template <Schedule S>
class WeightProducer {
  using Shape = GemmShape<S>;

 public:
  __device__ WeightProducer(const GemmParams& params, std::uint32_t shared, int lane)
      : params_(params), shared_(shared), lane_(lane), policy_(ptx::evict_first_policy()) {}

  __device__ void run() {
    TileWalker<GemmShape<S>, GemmParams> walker(params_);
#pragma unroll 1
    while (true) {
      const TilePart part = walker.next();
      hand_on(part);
      if (part.expert < 0) break;
      if (lane_ == 0) fill_stages(part);
      __syncwarp();
    }
  }

 private:
  __device__ void hand_on(const TilePart& part) {
    if (lane_ == 0) {
      const std::uint32_t offset = slot_.index * kBarrierBytes;
      ptx::barrier_wait(shared_ + Shape::kSlotEmpty + offset, slot_.parity ^ 1U);
      TileSlot{part.expert < 0 ? kNoExpert : part.expert,
               part.tile_m,
               part.row_begin,
               part.rows,
               part.parts_after,
               part.k_begin,
               part.k_end}
          .write(shared_ + Shape::kSlots + slot_.index * kTileSlotBytes);
      ptx::barrier_arrive(shared_ + Shape::kSlotFull + offset);
    }
    slot_.advance();
  }

  __device__ void fill_stages(const TilePart& part) {
    const int slabs = Shape::slabs(params_);
    const int first_block = part.tile_m * Shape::kWarpgroups;
    const int blocks = max(0, min(Shape::kWarpgroups, Shape::row_blocks(params_) - first_block));
    const int block_bytes = slabs * kSlabBytes;
    const std::uint8_t* from =
        params_.weights + part.expert * params_.expert_stride + std::int64_t{first_block} * block_bytes;
    from += std::int64_t{part.k_begin} * Shape::kRunBytes;
    int left = (slabs - part.k_begin * Shape::kStageSlabs) * kSlabBytes;  // of a 64-row block
#pragma unroll 1
    for (int k_block = part.k_begin; k_block < part.k_end; ++k_block) {
      const std::uint32_t bytes = min(Shape::kRunBytes, left);
      const std::uint32_t to = shared_ + stage_.index * Shape::kStageBytes + Shape::kWeights;
      const std::uint32_t full = shared_ + Shape::kFull + stage_.index * kBarrierBytes;
      ptx::barrier_wait(shared_ + Shape::kEmpty + stage_.index * kBarrierBytes, stage_.parity ^ 1U);
      ptx::barrier_arrive_expect(full, blocks * bytes);
      for (int block = 0; block < blocks; ++block) {
        ptx::bulk_copy(to + block * Shape::kRunBytes, from + std::int64_t{block} * block_bytes, bytes, full, policy_);
      }
      from += Shape::kRunBytes;
      left -= Shape::kRunBytes;
      stage_.advance();
    }
  }

  const GemmParams& params_;
  std::uint32_t shared_;
  int lane_;
  std::uint64_t policy_;
  RingPlace<S.stages> stage_;
  RingPlace<kTileSlots> slot_;
};

/// Tokens in tile order: a tile's rows of a slab are one run of bytes.
template <Schedule S>
class TileTokenProducer {
  using Shape = GemmShape<S>;

 public:
  __device__ TileTokenProducer(const GemmParams& params, std::uint32_t shared, int lane)
      : params_(params), shared_(shared), lane_(lane) {}

  __device__ void run() {
    TileWalker<GemmShape<S>, GemmParams> walker(params_);
#pragma unroll 1
    while (true) {
      const TilePart part = walker.next();
      if (part.expert < 0) break;
      if (lane_ == 0) fill_stages(part);
      __syncwarp();
    }
  }

 private:
  __device__ void fill_stages(const TilePart& part) {
    const int slabs = Shape::slabs(params_);
    const std::int64_t slab_stride = params_.group_rows * 128;
    const std::uint32_t bytes = (part.rows + kRowGroup - 1) / kRowGroup * kRowGroup * 128;
    const std::uint8_t* from = static_cast<const std::uint8_t*>(params_.x) + std::int64_t{part.row_begin} * 128 +
                               std::int64_t{part.k_begin} * Shape::kStageSlabs * slab_stride;
#pragma unroll 1
    for (int k_block = part.k_begin; k_block < part.k_end; ++k_block) {
      const int here = min(Shape::kStageSlabs, slabs - k_block * Shape::kStageSlabs);
      const std::uint32_t to = shared_ + stage_.index * Shape::kStageBytes + Shape::kTokens;
      const std::uint32_t full = shared_ + Shape::kFull + stage_.index * kBarrierBytes;
      ptx::barrier_wait(shared_ + Shape::kEmpty + stage_.index * kBarrierBytes, stage_.parity ^ 1U);
      ptx::barrier_arrive_expect(full, here * bytes);
#pragma unroll 1
      for (int slab = 0; slab < here; ++slab) {
        ptx::bulk_copy(to + slab * Shape::kTokenSlabBytes, from, bytes, full);
        from += slab_stride;
      }
      stage_.advance();
    }
  }

  const GemmParams& params_;
  std::uint32_t shared_;
  int lane_;
  RingPlace<S.stages> stage_;
};

/// Hands stages on whose tokens have landed.
template <Schedule S>
__device__ void hand_on_landed(const GemmParams& params, std::uint32_t shared) {
  using Shape = GemmShape<S>;
  TileWalker<GemmShape<S>, GemmParams> walker(params);
  RingPlace<S.stages> stage;
#pragma unroll 1
  while (true) {
    const TilePart part = walker.next();
    if (part.expert < 0) return;
#pragma unroll 1
    for (int k_block = part.k_begin; k_block < part.k_end; ++k_block) {
      ptx::barrier_wait(shared + Shape::kLanded + stage.index * kBarrierBytes, stage.parity);
      ptx::fence_proxy_async();
      __syncwarp();
      if (threadIdx.x % 32 == 0) ptx::barrier_arrive(shared + Shape::kFull + stage.index * kBarrierBytes);
      stage.advance();
    }
  }
}

template <Schedule S>
class TokenProducer {
  using Shape = GemmShape<S>;
  static constexpr int kRowLanes = 4;
  static constexpr int kWarpRows = 32 / kRowLanes;
  static constexpr int kRowStep = kWarpRows * kTokenWarps;  ///< rows that the warps copy at a time
  static constexpr int kRounds = (S.tile_n + kRowStep - 1) / kRowStep;
  static_assert(kWarpRows % 8 == 0, "all rows of a lane have the same place in their swizzle atom");

 public:
  __device__ TokenProducer(const GemmParams& params, std::uint32_t shared, int warp, int lane)
      : params_(params), shared_(shared), warp_(warp), lane_(lane) {
    const int row = warp * kWarpRows + lane / kRowLanes;
    to_ = Shape::kTokens + row * 128 + ((lane % kRowLanes ^ row % 8) << 4);
  }

  __device__ void run() {
    TileWalker<GemmShape<S>, GemmParams> walker(params_);
#pragma unroll 1
    while (true) {
      const TilePart part = walker.next();
      if (part.expert < 0) break;
      find_rows(part);
#pragma unroll 1
      for (int k_block = part.k_begin; k_block < part.k_end; ++k_block) fill_stage(k_block);
    }
  }

 private:
  // Where this lane's rows of x begin. Lanes past the last row copy that one again: a line that is read anyway.
  __device__ void find_rows(const TilePart& part) {
    const int first = warp_ * kWarpRows;
    rounds_ = (part.rows - first + kRowStep - 1) / kRowStep;
#pragma unroll
    for (int i = 0; i < kRounds; ++i) {
      int source = min(first + i * kRowStep + lane_ / kRowLanes, part.rows - 1) + part.row_begin;
      source = params_.row_source[source];
      from_[i] = static_cast<const std::uint8_t*>(params_.x) + source * params_.x_stride * 2 +
                 part.k_begin * (S.tile_k * 2) + lane_ % kRowLanes * 16;
    }
  }

  __device__ void fill_stage(int k_block) {
    const std::uint32_t to = shared_ + stage_.index * Shape::kStageBytes + to_;
    ptx::barrier_wait(shared_ + Shape::kEmpty + stage_.index * kBarrierBytes, stage_.parity ^ 1U);
    if ((k_block + 1) * S.tile_k <= params_.k) {
      copy_whole(to);
    } else {
      copy_rest(to, params_.k - k_block * S.tile_k);
    }
    ptx::arrive_on_copies(shared_ + Shape::kLanded + stage_.index * kBarrierBytes);
    stage_.advance();
  }

  // The second half of a row's 128 bytes lies 64 bytes away from the first: 4 more in the chunk number, before the XOR.
  // A copy reads its address registers late, so a pointer moves on only after all copies have been issued.
  __device__ void copy_whole(std::uint32_t to) {
#pragma unroll
    for (int i = 0; i < kRounds; ++i) {
      const bool has_rows = i < rounds_;
#pragma unroll
      for (int slab = 0; slab < Shape::kStageSlabs; ++slab) {
        const std::uint32_t place = i * kRowStep * 128 + slab * Shape::kTokenSlabBytes;
        ptx::copy_16_if(has_rows, to + place, from_[i] + slab * 128);
        ptx::copy_16_if(has_rows, (to ^ 64U) + place, from_[i] + slab * 128 + 64);
      }
    }
#pragma unroll
    for (int i = 0; i < kRounds; ++i) ptx::advance_pointer(from_[i], S.tile_k * 2);
  }

  // The last k-block, of which K has `k` elements: zeros from there to the end of a slab.
  __device__ void copy_rest(std::uint32_t to, int k) {
    const int slabs = (k + kSlabK - 1) / kSlabK;
#pragma unroll 1
    for (int slab = 0; slab < slabs; ++slab) {
      const int chunks = (k - slab * kSlabK) / 8 - lane_ % kRowLanes;
#pragma unroll
      for (int i = 0; i < kRounds; ++i) {
        if (i >= rounds_) break;
        const std::uint32_t place = i * kRowStep * 128 + slab * Shape::kTokenSlabBytes;
        const std::uint8_t* from = from_[i] + slab * 128;
        ptx::copy_16_or_zero(to + place, chunks > 0 ? from : from_[i], chunks > 0);
        ptx::copy_16_or_zero((to ^ 64U) + place, chunks > kRowLanes ? from + 64 : from_[i], chunks > kRowLanes);
      }
    }
  }

  const GemmParams& params_;
  std::uint32_t shared_;
  int warp_;
  int lane_;
  std::uint32_t to_;  ///< of the lane's first chunk, from a stage's start
  int rounds_ = 0;    ///< of kRounds, those with rows
  RingPlace<S.stages> stage_;
  const std::uint8_t* from_[kRounds];
};

}  // namespace tilewright::cuda::sm90
