// The SM90 w4a16 grouped GEMM: y[r, :] = epilogue(W_e x[r, :]) for the rows r of every expert e, as a function of a
// Schedule.
//
//   operands   W in NVFP4 (weight_order.hpp) decoded to bf16 in registers, the A side of wgmma, 64 rows a warpgroup;
//              x in bf16 in shared memory, 128-byte swizzle, the B side, gathered or copied in tile order; fp32
//              accumulators; y in bf16, by rows or in tile order (gemm_params.hpp)
//   roles      S.roles.consumer_warps / 4 warpgroups multiply; the warpgroup after them loads, and gives them registers
//   pipelines  a ring of S.stages k-blocks (full: weights and tokens are there; empty: consumers let go), and two tile
//              slots by which the producer says what to compute
//   walk       persistent blocks; tiles in turn, or equal runs of k-blocks (stream-K), see tile_walk.hpp
//   limits     K and N multiples of 16, experts up to 1,024, 65,535 weight tiles and k-blocks
//
// The same input gives the same bits: no sum depends on the order in which blocks run.
#pragma once

#include <cstdint>

#include "cuda/sm90/epilogue.cuh"
#include "cuda/sm90/mainloop.cuh"
#include "cuda/sm90/producer.cuh"
#include "tilewright/sm90_catalogue.hpp"

namespace tilewright::cuda::sm90 {

template <Schedule S>
__device__ void initialise_barriers(std::uint32_t shared) {
  using Shape = GemmShape<S>;
  if (threadIdx.x == 0) {
    for (int i = 0; i < S.stages; ++i) {
      ptx::barrier_init(shared + Shape::kFull + i * kBarrierBytes, 2);  // weights and tokens
      if constexpr (Shape::kGathers) {
        ptx::barrier_init(shared + Shape::kLanded + i * kBarrierBytes, 32 * kTokenWarps);
      }
      ptx::barrier_init(shared + Shape::kEmpty + i * kBarrierBytes, S.roles.consumer_warps * kArrivingLanes);
    }
    for (int i = 0; i < kTileSlots; ++i) {
      ptx::barrier_init(shared + Shape::kSlotFull + i * kBarrierBytes, 1);
      ptx::barrier_init(shared + Shape::kSlotEmpty + i * kBarrierBytes, S.roles.consumer_warps * kArrivingLanes);
    }
    ptx::barrier_init_fence();
  }
  __syncthreads();
}

/// What a consumer warpgroup carries from tile to tile.
template <Schedule S>
struct Consumer {
  const GemmParams& params;
  std::uint32_t shared;
  ConsumerAddresses at;
  bool arrives;  ///< the lane that arrives for its warp
  TileEpilogue<S> epilogue;
  RingPlace<S.stages> stage;
  RingPlace<kTileSlots> slot;

  [[nodiscard]] __device__ std::uint32_t tile_slot() const {
    return shared + GemmShape<S>::kSlots + slot.index * kTileSlotBytes;
  }

  /// Gives the slot back; the epilogue has read it.
  __device__ void leave_slot() {
    __syncwarp();
    if (arrives) ptx::barrier_arrive(shared + GemmShape<S>::kSlotEmpty + slot.index * kBarrierBytes);
    slot.advance();
  }

  /// From a part's sums to rows of y: by way of the block that has the tile's first k-block, under stream-K.
  __device__ __forceinline__ void finish(float (&acc)[S.tile_n / 2]) {
    leave_slot();
    if constexpr (GemmShape<S>::kStreamK) {
      const TileSlot& tile = epilogue.tile();
      if (tile.k_begin > 0) return epilogue.give_partial(acc);
      if (tile.parts_after > 0) epilogue.take_partials(tile.parts_after, acc);
    }
    epilogue.store(acc);
  }
};

/// Multiplies a tile part by the smallest wgmma that covers its rows.
template <Schedule S, int N = sm90_wgmma_n(S, 0)>
__device__ __forceinline__ void multiply_rows(Consumer<S>& consumer, const TileSlot& tile, int slabs,
                                              float (&acc)[S.tile_n / 2]) {
  if constexpr (N < S.tile_n) {
    if (tile.rows > N) return multiply_rows<S, sm90_wgmma_n(S, N + 1)>(consumer, tile, slabs, acc);
  }
#pragma unroll
  for (int i = 0; i < N / 2; ++i) acc[i] = 0.0F;
  Mainloop<S, N>::run(consumer.at, consumer.stage, tile.k_begin, tile.k_end, slabs, consumer.arrives, acc,
                      [&] { consumer.epilogue.prepare(consumer.tile_slot()); });
}

/// A warpgroup whose 64 rows are all past N keeps up with the others; its sums are zeros, which fill y up to the end of
/// a slab where it is in tile order.
template <Schedule S>
__device__ __forceinline__ void pass_tile(Consumer<S>& consumer, const TileSlot& tile, float (&acc)[S.tile_n / 2]) {
  skip_blocks<S>(consumer.at, consumer.stage, tile.k_end - tile.k_begin, consumer.arrives);
  consumer.epilogue.prepare_zeros(consumer.tile_slot());
#pragma unroll
  for (float& sum : acc) sum = 0.0F;
}

template <Schedule S>
__device__ void consume(const GemmParams& params, std::uint32_t shared) {
  using Shape = GemmShape<S>;
  const int warp = __shfl_sync(0xFFFFFFFFU, static_cast<int>(threadIdx.x) / 32, 0);
  const int warpgroup = warp / 4;
  const int thread = static_cast<int>(threadIdx.x) % 128;
  const std::uint32_t weights = shared + Shape::kWeights + warpgroup * Shape::kRunBytes;
  Consumer<S> consumer{params, shared, {}, kArrivingLanes == 32 || thread % 32 == 0, TileEpilogue<S>(params, shared),
                       {},     {}};
  ConsumerAddresses& at = consumer.at;
  at.codes = weights + thread * 16;
  at.scales = weights + kSlabCodeBytes + warp % 4 * kWarpScaleBytes + thread % 32 / 4 * 8;
  at.tokens = shared + Shape::kTokens;
  at.full = shared + Shape::kFull;
  at.empty = shared + Shape::kEmpty;
  asm volatile("mov.b32 %0, %1;" : "=r"(at.scale_exponent) : "r"(params.scale_exponent));
  float acc[S.tile_n / 2];

  while (true) {
    ptx::barrier_wait(shared + Shape::kSlotFull + consumer.slot.index * kBarrierBytes, consumer.slot.parity);
    const TileSlot tile = TileSlot::read(consumer.tile_slot());
    if (tile.expert == kNoExpert) return;
    if (tile.tile_m * Shape::kWarpgroups + warpgroup < Shape::row_blocks(params)) {
      multiply_rows<S>(consumer, tile, Shape::slabs(params), acc);
    } else {
      pass_tile<S>(consumer, tile, acc);
    }
    consumer.finish(acc);
  }
}

template <Schedule S>
__device__ void produce(const GemmParams& params, std::uint32_t shared, int warp, int lane) {
  if (warp == kWeightWarp) {
    if (params.ranges_ready == 0) ptx::wait_for_dependencies();
    WeightProducer<S>(params, shared, lane).run();
    return;
  }
  ptx::wait_for_dependencies();
  // The next kernel may be launched: it finds room where a block of this one ends, and may by then read what the
  // kernels before this one wrote.
  ptx::launch_dependents();
  if constexpr (S.token_load == TokenLoad::tile_order) {
    if (warp == kFirstTokenWarp) TileTokenProducer<S>(params, shared, lane).run();
  } else if (warp == kLandingWarp) {
    hand_on_landed<S>(params, shared);
  } else {
    TokenProducer<S>(params, shared, warp - kFirstTokenWarp, lane).run();
  }
}

/// A schedule as a type. In the host code that nvcc 13.0 generates to launch a __global__ function, it misspells
/// template arguments that are values of a class in a namespace; types it gets right.
template <Schedule S>
struct Scheduled {
  static constexpr Schedule kSchedule = S;
};

template <typename Scheduled>
__global__ void __launch_bounds__(threads(Scheduled::kSchedule), Scheduled::kSchedule.ctas_per_sm)
    grouped_gemm(const __grid_constant__ GemmParams params) {
  constexpr Schedule S = Scheduled::kSchedule;
  extern __shared__ __align__(1024) std::uint8_t memory[];
  const std::uint32_t shared = ptx::shared_address(memory);
  initialise_barriers<S>(shared);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  if (warp >= S.roles.consumer_warps) {
    ptx::give_registers<producer_registers(S)>();
    produce<S>(params, shared, warp - S.roles.consumer_warps, static_cast<int>(threadIdx.x) % 32);
  } else {
    ptx::take_registers<consumer_registers(S)>();
    ptx::wait_for_dependencies();
    consume<S>(params, shared);
  }
}

}  // namespace tilewright::cuda::sm90
