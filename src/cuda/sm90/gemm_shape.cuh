// What a schedule means for the SM90 kernel: its constants, its shared memory, its ring.
#pragma once

#include <cstdint>

#include "cuda/grouped/ring.cuh"
#include "cuda/ptx/barrier.cuh"
#include "cuda/sm90/gemm_params.hpp"
#include "cuda/sm90/weight_order.hpp"
#include "tilewright/schedule.hpp"
#include "tilewright/shared_memory.hpp"
#include "tilewright/sm90_catalogue.hpp"

namespace tilewright::cuda::sm90 {

// Registers of a thread. A SM's four sub-cores have 512 for each lane, shared by a quarter of the resident warps: a
// producer warp and one warp of every consumer warpgroup of each block. The launch gives all warps the same; setmaxnreg
// then moves what the producers do not need to the consumers. Multiples of 8.
inline constexpr int kLaneRegisters = 512;
// Gathering keeps a pointer for every row that a lane copies; bulk copies need next to nothing.
constexpr int least_producer_registers(const Schedule& s) { return s.token_load == TokenLoad::gather ? 64 : 56; }
constexpr int warps_per_subcore(const Schedule& s) { return (s.roles.producer_warps + s.roles.consumer_warps) / 4; }
constexpr int launch_registers(const Schedule& s) {
  const int share = kLaneRegisters / (warps_per_subcore(s) * s.ctas_per_sm);
  return share >= 256 ? 248 : share / 8 * 8;
}
constexpr int consumer_registers(const Schedule& s) {
  const int pool = launch_registers(s) * warps_per_subcore(s) - least_producer_registers(s);
  const int share = pool / (warps_per_subcore(s) - 1) / 8 * 8;
  return share > 240 ? 240 : share;
}
constexpr int producer_registers(const Schedule& s) {
  return launch_registers(s) * warps_per_subcore(s) - consumer_registers(s) * (warps_per_subcore(s) - 1);
}

template <Schedule S>
struct GemmShape {
  static constexpr SharedMemoryPlan kPlan = shared_memory(S);
  static constexpr int kThreads = threads(S);
  static constexpr int kWarpgroups = S.roles.consumer_warps / 4;
  static constexpr int kConsumerThreads = 32 * S.roles.consumer_warps;
  static constexpr int kStages = S.stages;
  static constexpr int kTileN = S.tile_n;
  static constexpr int kStageSlabs = S.tile_k / kSlabK;
  static constexpr int kRunBytes = kStageSlabs * kSlabBytes;  ///< of one 64-row block in a stage
  static constexpr int kTokenSlabBytes = S.tile_n * kSlabK * 2;
  static constexpr bool kGathers = S.token_load == TokenLoad::gather;
  /// The kernel leaves its output in tile order, for the next GEMM.
  static constexpr bool kTileOrderOut = S.epilogue == Epilogue::gated_bf16 || S.epilogue == Epilogue::act_bf16;
  static constexpr bool kStreamK = S.split.kind == SplitKind::stream_k;
  static constexpr int kGranule = sm90_granule(S);
  static constexpr int kChannels = output_channels(S);
  static constexpr int kGroupChannels = kChannels / kWarpgroups;
  static constexpr int kStagingPitch = kChannels * 2 + kStagingPad;

  static_assert(S.arch == Arch::sm_90 && S.mma == Mma::wgmma_rs_bf16 && S.precision == Precision::w4a16);
  static_assert(S.tile_m == kSlabRows * kWarpgroups, "a consumer warpgroup has 64 weight rows");
  static_assert(S.tile_k % kSlabK == 0 && S.tile_n % 8 == 0 && S.stages >= 2 && S.cluster == 1);
  static_assert(S.roles.consumers == Consumers::cooperative && S.split.kind != SplitKind::split_k);
  static_assert(S.roles.producer_warps == 4, "setmaxnreg moves registers between warpgroups");
  static_assert(launch_registers(S) * 32 * (warps_per_subcore(S)) * 4 * S.ctas_per_sm <= 65536);
  static_assert(!stores_nvfp4(S.epilogue));

  __device__ static int row_blocks(const GemmParams& p) { return static_cast<int>(row_blocks_of(p.weight_rows)); }
  __device__ static int slabs(const GemmParams& p) { return static_cast<int>(slabs_of(p.k)); }
  /// Output in tile order ends with a whole slab: with an even number of 64-row blocks where 64 rows are 32 channels.
  __device__ static int tiles_m(const GemmParams& p) {
    const int blocks = kTileOrderOut && gated(S.epilogue) ? (row_blocks(p) + 1) / 2 * 2 : row_blocks(p);
    return (blocks + kWarpgroups - 1) / kWarpgroups;
  }
  __device__ static constexpr bool stream_k(const GemmParams& /*p*/) { return kStreamK; }
  __device__ static int k_blocks(const GemmParams& p) { return (slabs(p) + kStageSlabs - 1) / kStageSlabs; }

  // The account's offsets. Codes and scales alternate slab by slab: together they are one run of bytes.
  static constexpr int kTokens = static_cast<int>(kPlan.find(Buffer::tokens).offset);
  static constexpr int kWeights = static_cast<int>(kPlan.find(Buffer::weight_codes).offset);
  static constexpr int kStageBytes = static_cast<int>(kPlan.stage_bytes);
  static constexpr int kStaging = static_cast<int>(kPlan.find(Buffer::staging).offset);
  static constexpr int kFull = static_cast<int>(kPlan.find(Buffer::full_barriers).offset);
  static constexpr int kLanded = static_cast<int>(kPlan.find(Buffer::landed_barriers).offset);
  static constexpr int kEmpty = static_cast<int>(kPlan.find(Buffer::empty_barriers).offset);
  static constexpr int kSlots = static_cast<int>(kPlan.find(Buffer::tile_slots).offset);
  static constexpr int kSlotFull = static_cast<int>(kPlan.find(Buffer::tile_barriers).offset);
  static constexpr int kSlotEmpty = kSlotFull + kTileSlots * kBarrierBytes;
  static_assert(kPlan.find(Buffer::weight_scales).offset == kWeights + S.tile_m * S.tile_k / 2);
  static_assert(kWeights + kWarpgroups * kRunBytes <= kStageBytes);
  static_assert(kPlan.find(Buffer::staging).bytes == (S.tile_n < 32 ? S.tile_n : 32) * kStagingPitch);
  static_assert(kSlots % kTileSlotBytes == 0);
  static_assert(kPlan.total <= smem_per_block(S.arch));
};

/// fp32 of a tile's partial sums, a block.
template <Schedule S>
inline constexpr std::int64_t kPartialFloats =
    S.split.kind == SplitKind::stream_k ? std::int64_t{S.tile_m} * S.tile_n : 0;

}  // namespace tilewright::cuda::sm90
