// The SM120 grouped GEMM: y[r, :] = epilogue(W_e x[r, :]) for the rows r of every expert e, as a function of a Schedule
// and of the MMA (w4a4: block_mma.cuh, w4a16: bf16_mma.cuh).
//
//   operands   W in NVFP4, x in NVFP4 or bf16, both in tile order (fragment_order.hpp); fp32 accumulators; y in bf16 by
//              rows, or in x's form in tile order for the next GEMM
//   roles      eight warps multiply: all on one tile (cooperative), or in two groups that take tiles by turns and store
//              while the other multiplies (pingpong); one warp of the last warpgroup loads
//   pipelines  a ring of stages (full: all bytes of a k-block have landed; empty: the consumers let go) and two tile
//              slots by which the producer says what to compute. Under pingpong each group has a slot, and the ring has
//              the groups' k-blocks by turns, a tile's at a time
//   walk       persistent blocks; tiles in turn, or equal runs of k-blocks (stream-K), see tile_walk.hpp
//   limits     K and N multiples of 16, experts up to 1,024, 65,535 weight tiles and k-blocks
//
// The same input gives the same bits: no sum depends on the order in which blocks run, and without stream-K a sum runs
// over K in steps of 64 whatever the tile and the ring.
#pragma once

#include <cstdint>

#include "cuda/sm120/block_mma.cuh"
#include "cuda/sm120/epilogue.cuh"
#include "cuda/sm120/mainloop.cuh"
#include "cuda/sm120/producer.cuh"

namespace tilewright::cuda::sm120 {

template <Schedule S>
__device__ void initialise_barriers(const GemmParams& params, std::uint32_t shared) {
  using Shape = GemmShape<S>;
  const RingLayout at = Shape::layout(params);
  if (threadIdx.x == 0) {
    for (int i = 0; i < params.stages; ++i) {
      ptx::barrier_init(shared + at.full + i * kBarrierBytes, 1);
      ptx::barrier_init(shared + at.empty + i * kBarrierBytes, Shape::kGroupWarps * kArrivingLanes);
    }
    for (int i = 0; i < kTileSlots; ++i) {
      ptx::barrier_init(shared + at.slot_full + i * kBarrierBytes, 1);
      ptx::barrier_init(shared + at.slot_empty + i * kBarrierBytes, Shape::kGroupWarps * kArrivingLanes);
    }
    ptx::barrier_init_fence();
  }
  __syncthreads();
}

/// Clock cycles that a block's first warp spends in mainloops, and their k-blocks.
struct LoopClock {
  std::int64_t cycles = 0;
  std::int64_t k_blocks = 0;
  std::int64_t began = 0;

  __device__ void start() { began = clock64(); }
  __device__ void stop(int blocks) {
    cycles += clock64() - began;
    k_blocks += blocks;
  }
};

template <Schedule S, typename BlockMma>
__device__ void consume(const GemmParams& params, std::uint32_t shared, int warp, int lane) {
  using Shape = GemmShape<S>;
  const RingLayout ring = Shape::layout(params);
  const int group = warp / Shape::kGroupWarps;
  const bool arrives = kArrivingLanes == 32 || lane == 0;
  const Mainloop<S, BlockMma> mainloop(shared, ring, warp % Shape::kGroupWarps, lane);
  const int k_blocks = Shape::k_blocks(params);
  StagePlace stage;
  RingPlace<kTileSlots> slot;
  if constexpr (Shape::kPingpong) slot.index = group;
  if (group == 1) stage.skip(k_blocks, params.stages);
  [[maybe_unused]] LoopClock clock;

  while (true) {
    ptx::barrier_wait(shared + ring.slot_full + slot.index * kBarrierBytes, slot.parity);
    const TileSlot tile = TileSlot::read(shared + ring.slots + slot.index * kTileSlotBytes);
    __syncwarp();
    if (arrives) ptx::barrier_arrive(shared + ring.slot_empty + slot.index * kBarrierBytes);
    if (tile.expert == kNoExpert) break;
    typename Mainloop<S, BlockMma>::Sums sums = {};
    if constexpr (BlockMma::kTimed) clock.start();
    mainloop.run(stage, params.stages, tile.k_begin, tile.k_end, Shape::slabs(params), arrives, sums);
    if constexpr (BlockMma::kTimed) clock.stop(tile.k_end - tile.k_begin);
    const TileEpilogue<S, BlockMma> epilogue(params, shared);
    epilogue.clear_absent(tile, sums);
    if constexpr (Shape::kPingpong) {
      slot.parity ^= 1U;
      stage.skip(k_blocks, params.stages);
    } else {
      slot.advance();
      if (tile.k_begin > 0) {
        epilogue.give_partial(sums);
        continue;
      }
      if (tile.parts_after > 0) epilogue.take_partials(tile.parts_after, sums);
    }
    epilogue.store(tile, sums);
  }
  if constexpr (BlockMma::kTimed) {
    if (threadIdx.x == 0 && params.cycles != nullptr) {
      params.cycles[2 * blockIdx.x] = clock.cycles;
      params.cycles[2 * blockIdx.x + 1] = clock.k_blocks;
    }
  }
}

/// The lane, found out anew: one value for both branches of the kernel takes a register through the mainloop.
__device__ __forceinline__ int lane_index() {
  int lane = 0;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

/// A schedule as a type. In the host code that nvcc 13.0 generates to launch a __global__ function, it misspells
/// template arguments that are values of a class in a namespace; types it gets right.
template <Schedule S>
struct Scheduled {
  static constexpr Schedule kSchedule = S;
};

template <typename Scheduled, typename BlockMma>
__global__ void __launch_bounds__(threads(Scheduled::kSchedule), 1)
    grouped_gemm(const __grid_constant__ GemmParams params) {
  constexpr Schedule S = Scheduled::kSchedule;
  extern __shared__ __align__(1024) std::uint8_t memory[];
  const std::uint32_t shared = ptx::shared_address(memory);
  initialise_barriers<S>(params, shared);
  const int warp = __shfl_sync(0xFFFFFFFFU, static_cast<int>(threadIdx.x) / 32, 0);
  if (warp >= S.roles.consumer_warps) {
    if constexpr (moves_registers(S)) ptx::give_registers<kProducerRegisters>();
    if (warp == S.roles.consumer_warps) Producer<S>(params, shared, lane_index()).run();
  } else {
    if constexpr (moves_registers(S)) ptx::take_registers<kConsumerRegisters>();
    ptx::wait_for_dependencies();
    consume<S, BlockMma>(params, shared, warp, lane_index());
  }
}

}  // namespace tilewright::cuda::sm120
