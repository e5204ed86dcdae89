// shared_memory(S): every byte that a schedule needs, as one constexpr function.
//
// The planner compares `total` with the device's limit, and a kernel lays out its buffers with the same function and
// static_asserts it, so what is said and what is needed cannot differ. Offsets count from the start of the block's
// dynamic shared memory, which a kernel declares with 1,024-byte alignment and beside which it has no static one.
//
// A block's memory, in this order:
//
//   stage 0 .. stages-1   SM12x w4a4   weight_codes   tile_m * tile_k / 2      |  one bulk copy: a weight tile and its
//                                      weight_scales  tile_m * tile_k / 16     |  scales are one run of bytes
//                                      token_codes    tile_n * tile_k / 2      |  one bulk copy, in tile order as the
//                                      token_scales   tile_n * tile_k / 16     |  kernel before quantized them
//                                      stage_padding  to 128 (bulk copies land on whole lines)
//                         SM12x w4a16  weight_codes, weight_scales as above
//                                      tokens         tile_n * tile_k * 2      bf16, one bulk copy a slab of 128 k
//                                      stage_padding  to 128
//                         SM90 w4a16   tokens         tile_n * tile_k * 2      bf16 in 128-byte swizzle: atoms of 8
//                                                                              tokens x 64 k, hence aligned to 1,024
//                                      weight_codes   tile_m * tile_k / 2      |  one bulk copy, in the order of the
//                                      weight_scales  tile_m * tile_k / 16     |  wgmma A fragment, codes and scales of
//                                                                              |  64 x 64 weights by turns
//                                      stage_padding  to 1,024
//   staging               the epilogue's transpose, not shared with the ring so that the producer runs on during an
//                         epilogue: for each consumer group min(tile_n, 32) tokens of (2 a channel + 16), in bf16 also
//                         where NVFP4 is stored, which is quantized from there; gated tiles have tile_m / 2 channels,
//                         others tile_m. The 16 spread the rows over the banks
//   full_barriers         8 a stage: the producer's bytes have landed
//   empty_barriers        8 a stage: the consumers have let go
//   tile_slots            2 * 16: the tile (expert, weight tile, token tile, rows) that the producer hands on
//   tile_barriers         2 * 16: full and empty of each slot
//   landed_barriers       8 a stage, gathered tokens: they have landed; a warp fences them before it arrives on full
//   granule_padding       to 128, the unit in which shared memory is allocated
//
// On a CPU the same account is the working set of one core, to be compared with its L2: the strip or the expanded
// panel of the weights, the rows of activations (int8 planes with two fp32 a block) and the accumulators.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "tilewright/schedule.hpp"

namespace tilewright {

enum class Buffer : std::uint8_t {
  weight_codes,
  weight_scales,
  token_codes,
  token_scales,
  tokens,
  stage_padding,
  staging,
  full_barriers,
  empty_barriers,
  tile_slots,
  tile_barriers,
  landed_barriers,
  granule_padding,
  weight_panel,
  panel_scales,
  accumulators,
};

constexpr const char* to_string(Buffer buffer) {
  constexpr std::array<const char*, 16> kNames = {
      "weight_codes",    "weight_scales", "token_codes",    "token_scales", "tokens",        "stage_padding",
      "staging",         "full_barriers", "empty_barriers", "tile_slots",   "tile_barriers", "landed_barriers",
      "granule_padding", "weight_panel",  "panel_scales",   "accumulators"};
  return kNames[static_cast<std::size_t>(buffer)];
}

inline constexpr int kBulkCopyAlignment = 128;  ///< of a bulk copy's destination: a whole cache line
inline constexpr int kSwizzleAlignment =
    1024;  ///< of a 128-byte-swizzled tile: its atom (PTX ISA, wgmma matrix descriptors)
inline constexpr int kAllocationGranule =
    128;  ///< CUDA's cuda_occupancy.h: allocation granule of shared memory on 9.0 to 12.1
inline constexpr int kBarrierBytes = 8;  ///< one mbarrier
inline constexpr int kTileSlots = 2;     ///< the tile in work and the next one
inline constexpr int kTileSlotBytes = 16;
inline constexpr int kStagingTokens = 32;  ///< tokens that the epilogue transposes at a time
inline constexpr int kStagingPad = 16;     ///< bytes after each staged row

/// One buffer. Stage s of a staged buffer starts at offset + s * stage_stride and has bytes / stages bytes; the
/// others have stage_stride 0. `bytes` are those of all stages, so that the buffers' bytes sum to the total.
struct SharedBuffer {
  Buffer id = Buffer::weight_codes;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  std::int64_t stage_stride = 0;
  int alignment = 1;
};

struct SharedMemoryPlan {
  std::array<SharedBuffer, 12> entries{};
  int count = 0;
  std::int64_t stage_bytes = 0;  ///< of one stage, its padding included
  std::int64_t total = 0;

  constexpr const SharedBuffer* begin() const { return entries.data(); }
  constexpr const SharedBuffer* end() const { return entries.data() + count; }

  /// The buffer, or one of no bytes where the schedule does not have it.
  constexpr SharedBuffer find(Buffer id) const {
    for (const SharedBuffer& entry : *this) {
      if (entry.id == id) return entry;
    }
    return {};
  }
};

constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Bytes of one weight tile with its scales, as packed.
constexpr std::int64_t weight_tile_bytes(const Schedule& s) {
  const std::int64_t weights = static_cast<std::int64_t>(s.tile_m) * s.tile_k;
  return weights / 2 + weights / 16;
}

/// Bytes of one tile of activations as it lies in a stage.
constexpr std::int64_t token_tile_bytes(const Schedule& s) {
  const std::int64_t values = static_cast<std::int64_t>(s.tile_n) * s.tile_k;
  return s.precision == Precision::w4a4 ? values / 2 + values / 16 : values * 2;
}

/// Output channels of one tile.
constexpr int output_channels(const Schedule& s) { return gated(s.epilogue) ? s.tile_m / 2 : s.tile_m; }

/// Bytes of the epilogue's staging buffer.
constexpr std::int64_t staging_bytes(const Schedule& s) {
  const std::int64_t row = std::int64_t{2} * output_channels(s);
  const std::int64_t groups = s.roles.consumers == Consumers::pingpong ? 2 : 1;
  return groups * std::min(s.tile_n, kStagingTokens) * (row + kStagingPad);
}

namespace detail {

/// Appends buffers one after the other; empty ones are left out.
struct SharedMemoryLayout {
  SharedMemoryPlan plan;
  std::int64_t cursor = 0;

  constexpr void add(Buffer id, std::int64_t bytes, int alignment, int stages = 0) {
    if (bytes == 0) return;
    plan.entries[static_cast<std::size_t>(plan.count)] = {id, cursor, bytes * std::max(stages, 1), 0, alignment};
    ++plan.count;
    cursor += bytes;
  }

  constexpr void pad(Buffer id, int multiple, int stages = 0) {
    add(id, round_up(cursor, multiple) - cursor, 1, stages);
  }

  /// Everything added so far is one stage: it repeats `stages` times.
  constexpr void close_stage(int stages) {
    plan.stage_bytes = cursor;
    for (int i = 0; i < plan.count; ++i) plan.entries[static_cast<std::size_t>(i)].stage_stride = cursor;
    cursor *= stages;
  }
};

constexpr SharedMemoryPlan gpu_shared_memory(const Schedule& s) {
  SharedMemoryLayout layout;
  const bool fp4_tokens = s.precision == Precision::w4a4;
  const std::int64_t weights = static_cast<std::int64_t>(s.tile_m) * s.tile_k;
  const std::int64_t values = static_cast<std::int64_t>(s.tile_n) * s.tile_k;
  const bool swizzled = s.mma == Mma::wgmma_rs_bf16;
  if (swizzled) layout.add(Buffer::tokens, values * 2, kSwizzleAlignment, s.stages);
  layout.add(Buffer::weight_codes, weights / 2, kBulkCopyAlignment, s.stages);
  layout.add(Buffer::weight_scales, weights / 16, 16, s.stages);
  if (fp4_tokens) {
    layout.add(Buffer::token_codes, values / 2, kBulkCopyAlignment, s.stages);
    layout.add(Buffer::token_scales, values / 16, 16, s.stages);
  } else if (!swizzled) {
    layout.add(Buffer::tokens, values * 2, kBulkCopyAlignment, s.stages);
  }
  layout.pad(Buffer::stage_padding, swizzled ? kSwizzleAlignment : kBulkCopyAlignment, s.stages);
  layout.close_stage(s.stages);
  layout.add(Buffer::staging, staging_bytes(s), kBulkCopyAlignment);
  layout.add(Buffer::full_barriers, static_cast<std::int64_t>(kBarrierBytes) * s.stages, kBarrierBytes);
  layout.add(Buffer::empty_barriers, static_cast<std::int64_t>(kBarrierBytes) * s.stages, kBarrierBytes);
  layout.add(Buffer::tile_slots, kTileSlots * kTileSlotBytes, kTileSlotBytes);
  layout.add(Buffer::tile_barriers, kTileSlots * 2 * kBarrierBytes, kBarrierBytes);
  if (s.token_load == TokenLoad::gather) {
    layout.add(Buffer::landed_barriers, static_cast<std::int64_t>(kBarrierBytes) * s.stages, kBarrierBytes);
  }
  layout.pad(Buffer::granule_padding, kAllocationGranule);
  layout.plan.total = layout.cursor;
  return layout.plan;
}

constexpr SharedMemoryPlan cpu_working_set(const Schedule& s) {
  SharedMemoryLayout layout;
  const std::int64_t weights = static_cast<std::int64_t>(s.tile_m) * s.tile_k;
  const std::int64_t values = static_cast<std::int64_t>(s.tile_n) * s.tile_k;
  const int planes = s.precision == Precision::w4a4 ? 1 : 2;  // bf16 activations are two int8 planes
  layout.add(Buffer::weight_codes, weights / 2, 64);
  layout.add(Buffer::weight_scales, weights / 16, 64);
  if (s.mma == Mma::cpu_panel) {
    layout.add(Buffer::weight_panel, weights * 2, 64);
    layout.add(Buffer::panel_scales, weights / 16 * 4, 64);
  }
  layout.add(Buffer::token_codes, values * planes, 64);
  layout.add(Buffer::token_scales, values / 16 * 8, 64);
  layout.add(Buffer::accumulators, static_cast<std::int64_t>(s.tile_m) * s.tile_n * 4, 64);
  layout.plan.stage_bytes = layout.cursor;
  layout.plan.total = layout.cursor;
  return layout.plan;
}

}  // namespace detail

/// The bytes of a schedule, whether it fits anywhere or not.
constexpr SharedMemoryPlan shared_memory(const Schedule& s) {
  return on_cpu(s.mma) ? detail::cpu_working_set(s) : detail::gpu_shared_memory(s);
}

}  // namespace tilewright
