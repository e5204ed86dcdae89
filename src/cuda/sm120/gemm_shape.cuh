// What a schedule means for the SM120 kernel: its warps' shares, its shared memory, its ring.
//
// A kernel is built for a schedule with the deepest ring; a launch may take fewer stages. What comes after the stages
// moves with them, and is held against the account of every depth at compile time.
#pragma once

#include <cstdint>

#include "cuda/grouped/ring.cuh"
#include "cuda/ptx/barrier.cuh"
#include "cuda/sm120/gemm_params.hpp"
#include "tilewright/shared_memory.hpp"
#include "tilewright/sm120_catalogue.hpp"

namespace tilewright::cuda::sm120 {

/// Byte offsets in a block's shared memory of what comes after the stages.
struct RingLayout {
  int staging = 0;
  int full = 0;
  int empty = 0;
  int slots = 0;
  int slot_full = 0;
  int slot_empty = 0;

  friend constexpr bool operator==(const RingLayout&, const RingLayout&) = default;
};

constexpr RingLayout ring_layout(int stages, int stage_bytes, int staging_bytes) {
  RingLayout at;
  at.staging = stages * stage_bytes;
  at.full = at.staging + staging_bytes;
  at.empty = at.full + stages * kBarrierBytes;
  at.slots = at.empty + stages * kBarrierBytes;
  at.slot_full = at.slots + kTileSlots * kTileSlotBytes;
  at.slot_empty = at.slot_full + kTileSlots * kBarrierBytes;
  return at;
}

/// The same by the account.
constexpr RingLayout accounted_layout(const Schedule& s) {
  const SharedMemoryPlan plan = shared_memory(s);
  const auto at = [&](Buffer buffer) { return static_cast<int>(plan.find(buffer).offset); };
  return {at(Buffer::staging),    at(Buffer::full_barriers),
          at(Buffer::empty_barriers), at(Buffer::tile_slots),
          at(Buffer::tile_barriers),  at(Buffer::tile_barriers) + kTileSlots * kBarrierBytes};
}

template <Schedule S>
constexpr bool every_depth_is_accounted_for() {
  for (Schedule s = S; s.stages >= 2; --s.stages) {
    const SharedMemoryPlan plan = shared_memory(s);
    const auto staging = static_cast<int>(plan.find(Buffer::staging).bytes);
    if (ring_layout(s.stages, static_cast<int>(plan.stage_bytes), staging) != accounted_layout(s)) return false;
    if (plan.total > smem_per_block(S.arch)) return false;
  }
  return true;
}

// Registers of a thread: a sub-core lane's 512 among three warps, in eights; then what the loading warpgroup does not
// need goes to the two that multiply, where they have many sums.
inline constexpr int kLaunchRegisters = 168;
inline constexpr int kProducerRegisters = 56;
inline constexpr int kConsumerRegisters = (3 * kLaunchRegisters - kProducerRegisters) / 2 / 8 * 8;
constexpr bool moves_registers(const Schedule& s) { return accumulators(s) >= 64; }

/// Whether y lies as the next GEMM's x.
constexpr bool leaves_tile_order(const Schedule& s) {
  return s.precision == Precision::w4a4 ? stores_nvfp4(s.epilogue) : gated(s.epilogue) || activates(s.epilogue);
}

template <Schedule S>
struct GemmShape {
  static constexpr SharedMemoryPlan kPlan = shared_memory(S);
  static constexpr bool kPingpong = S.roles.consumers == Consumers::pingpong;
  static constexpr int kGroups = kPingpong ? 2 : 1;
  static constexpr int kGroupWarps = S.roles.consumer_warps / kGroups;
  static constexpr int kGroupThreads = 32 * kGroupWarps;
  static constexpr WarpGrid kGrid = sm120_warp_grid(S);
  static constexpr int kUnits = S.tile_m / kUnitRows / kGrid.rows;             ///< of 16 weight rows, a warp
  static constexpr int kColumns = S.tile_n / kTokenUnitRows / kGrid.columns;   ///< of 8 tokens, a warp
  static constexpr int kStageSlabs = S.tile_k / kSlabK;
  static constexpr int kTileBlocks = S.tile_m / kBlockRows;
  static constexpr int kTileN = S.tile_n;
  static constexpr int kGranule = kRowGroup;
  static constexpr bool kTileOrderOut = leaves_tile_order(S);
  static constexpr int kChannels = output_channels(S);
  static constexpr int kStageBytes = static_cast<int>(kPlan.stage_bytes);
  static constexpr int kRunBytes = kStageSlabs * kBlockBytes;  ///< of a 128-row block in a stage
  static constexpr int kTokens = kTileBlocks * kRunBytes;      ///< of a stage, where they begin
  static constexpr int kTokenUnit = S.precision == Precision::w4a4 ? kTokenUnitBytes : kBf16UnitBytes;  ///< bytes
  static constexpr int kTokenSlabBytes = S.tile_n / kTokenUnitRows * kTokenUnit;
  static constexpr int kStagedTokens = S.tile_n < kStagingTokens ? S.tile_n : kStagingTokens;
  static constexpr int kStagingPitch = kChannels * 2 + kStagingPad;
  static constexpr int kStagingBytes = kStagedTokens * kStagingPitch;  ///< of a group

  static_assert(S.arch == Arch::sm_120);
  static_assert(S.mma == (S.precision == Precision::w4a4 ? Mma::mma_mxf4nvf4 : Mma::mma_bf16));
  static_assert(kGrid.rows * kGrid.columns == kGroupWarps && kUnits >= 1 && kColumns >= 1);
  static_assert(kColumns == 1 || kColumns % 2 == 0, "column blocks are multiplied two by two");
  static_assert(S.tile_k % kSlabK == 0 && S.tile_m % kBlockRows == 0 && S.cluster == 1 && S.ctas_per_sm == 1);
  static_assert(S.roles.producer_warps == 4 && S.roles.consumer_warps == 8 && S.token_load == TokenLoad::tile_order);
  static_assert(kPlan.find(S.precision == Precision::w4a4 ? Buffer::token_codes : Buffer::tokens).offset == kTokens);
  static_assert(kTokens + kStageSlabs * kTokenSlabBytes <= kStageBytes);
  static_assert(kPlan.find(Buffer::staging).bytes == kGroups * kStagingBytes);
  static_assert(kStagedTokens % (8 * kGrid.columns) == 0);
  static_assert(every_depth_is_accounted_for<S>());

  __device__ static RingLayout layout(const GemmParams& p) {
    return ring_layout(p.stages, kStageBytes, kGroups * kStagingBytes);
  }
  __device__ static int row_blocks(const GemmParams& p) { return static_cast<int>(row_blocks_of(p.weight_rows)); }
  __device__ static int slabs(const GemmParams& p) { return static_cast<int>(slabs_of(p.k)); }
  __device__ static int k_blocks(const GemmParams& p) { return (slabs(p) + kStageSlabs - 1) / kStageSlabs; }
  /// Output in tile order ends with a whole slab of 128 channels, which gated rows come to two by two blocks.
  __device__ static int tiles_m(const GemmParams& p) {
    const int blocks = kTileOrderOut && gated(S.epilogue) ? (row_blocks(p) + 1) / 2 * 2 : row_blocks(p);
    return (blocks + kTileBlocks - 1) / kTileBlocks;
  }
  /// 128-row blocks of a tile that the weights have; the last tile may have fewer, or none.
  __device__ static int blocks_of(const GemmParams& p, int tile_m) {
    return max(0, min(kTileBlocks, row_blocks(p) - tile_m * kTileBlocks));
  }
  __device__ static int channels(const GemmParams& p) {
    return gated(S.epilogue) ? p.weight_rows / 2 : p.weight_rows;
  }
  __device__ static bool stream_k(const GemmParams& p) { return !kPingpong && p.stream_k != 0; }
};

}  // namespace tilewright::cuda::sm120
