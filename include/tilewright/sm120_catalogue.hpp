// The SM120 catalogue: one kernel a precision, a tile, a way to share it and an ending, wherever two stages fit a
// block. The planner offers these schedules and no others, and the kernels are instantiated from this list.
//
// The stages of the ring and whether K is dealt evenly to the blocks (stream-K) are fields of the schedule that a
// kernel takes at its launch: neither changes an instruction of its mainloop, and each count of stages that fits is one
// schedule more. The kernels are built for sm_120f, which runs on SM120 and SM121, and for SM90: w4a4 with the MMA
// emulated, w4a16 with the same one. bf16 tokens have 3.6 times the bytes of NVFP4's, so w4a16 has the smaller tiles of
// the list alone.
#pragma once

#include <array>
#include <span>

#include "tilewright/arch.hpp"
#include "tilewright/schedule.hpp"
#include "tilewright/shared_memory.hpp"

namespace tilewright {

struct Sm120Tile {
  int m = 0;
  int n = 0;
  int k = 0;
  bool pingpong = false;  ///< built with pingpong consumers too
};

/// Prefill: the four tiles of which a CUTLASS build loses the larger two. Decode: 128 weight rows by as few tokens as
/// an MMA has columns, at two depths. Pingpong where an epilogue is worth hiding and half the warps have the registers.
inline constexpr std::array kSm120Tiles = {
    Sm120Tile{128, 128, 128, true},  Sm120Tile{128, 128, 256, true}, Sm120Tile{128, 256, 128, false},
    Sm120Tile{256, 128, 128, false}, Sm120Tile{128, 8, 128, false},  Sm120Tile{128, 8, 256, false},
    Sm120Tile{128, 16, 128, false},  Sm120Tile{128, 16, 256, false}, Sm120Tile{128, 32, 128, false},
    Sm120Tile{128, 32, 256, false},  Sm120Tile{128, 64, 128, true},  Sm120Tile{128, 64, 256, true},
};

/// An activation ends in NVFP4 where GEMM2's input scale is known, and in rows of bf16 where each row will be given its
/// own.
inline constexpr std::array kSm120Endings = {Epilogue::bf16,      Epilogue::finalize,   Epilogue::gated_nvfp4,
                                             Epilogue::act_nvfp4, Epilogue::gated_bf16, Epilogue::act_bf16};

// One warp loads; the other three of its warpgroup are there because setmaxnreg moves registers between whole
// warpgroups, and 128 accumulators need more than the 168 that twelve warps start with.
inline constexpr int kSm120ConsumerWarps = 8;
inline constexpr int kSm120ProducerWarps = 4;

/// kSm120Endings of w4a16, whose activations end as GEMM2 reads them: in bf16, in tile order.
inline constexpr std::array kSm120Bf16Endings = {Epilogue::bf16, Epilogue::finalize, Epilogue::gated_bf16,
                                                 Epilogue::act_bf16};
constexpr std::span<const Epilogue> sm120_endings(Precision precision) {
  if (precision == Precision::w4a4) return kSm120Endings;
  return kSm120Bf16Endings;
}

constexpr Schedule sm120_schedule(const Sm120Tile& tile, Consumers consumers, int stages, SplitKind split,
                                  Epilogue epilogue, Precision precision = Precision::w4a4) {
  Schedule s;
  s.arch = Arch::sm_120;
  s.precision = precision;
  s.mma = precision == Precision::w4a4 ? Mma::mma_mxf4nvf4 : Mma::mma_bf16;
  s.tile_m = tile.m;
  s.tile_n = tile.n;
  s.tile_k = tile.k;
  s.stages = stages;
  s.roles = {kSm120ProducerWarps, kSm120ConsumerWarps, consumers};
  s.split = {split, 1};
  s.token_load = TokenLoad::tile_order;
  s.epilogue = epilogue;
  return s;
}

/// How a group of consumer warps divides a tile: rows x columns of warps.
struct WarpGrid {
  int rows = 1;
  int columns = 1;
};

/// The grid whose warps read the fewest bytes of fragments from shared memory: weights once a column, tokens once a
/// row; the taller of equal ones. A warp has whole MMAs of 16 x 8; of a tile that no grid divides so, a column of
/// warps. With w4a16 the same as with w4a4: tokens have more bytes, but every column of warps decodes all weights.
constexpr WarpGrid sm120_warp_grid(Schedule s) {
  s.precision = Precision::w4a4;
  const int warps = s.roles.consumer_warps / (s.roles.consumers == Consumers::pingpong ? 2 : 1);
  WarpGrid best{warps, 1};
  std::int64_t least = -1;
  for (int columns = 1; columns <= warps; columns *= 2) {
    const int rows = warps / columns;
    if (s.tile_m % (16 * rows) != 0 || s.tile_n % (8 * columns) != 0) continue;
    const std::int64_t bytes = weight_tile_bytes(s) * columns + token_tile_bytes(s) * rows;
    if (least >= 0 && bytes >= least) continue;
    least = bytes;
    best = {rows, columns};
  }
  return best;
}

/// The deepest ring of a kernel that fits a block on SM120: every count from two to this is a schedule. One where two
/// stages do not fit.
constexpr int sm120_most_stages(const Sm120Tile& tile, Consumers consumers, Epilogue epilogue,
                                Precision precision = Precision::w4a4) {
  Schedule s = sm120_schedule(tile, consumers, 2, SplitKind::none, epilogue, precision);
  while (shared_memory(s).total <= smem_per_block(Arch::sm_120)) ++s.stages;
  return s.stages - 1;
}

/// Whether there is such a kernel, of an ending that the precision has.
constexpr bool sm120_builds(const Sm120Tile& tile, Consumers consumers, Epilogue epilogue, Precision precision) {
  if (consumers == Consumers::pingpong && !tile.pingpong) return false;
  return sm120_most_stages(tile, consumers, epilogue, precision) >= 2;
}

/// Two groups that alternate tiles have no block between them that could add partial sums up: they take whole tiles.
constexpr bool sm120_splits(Consumers consumers) { return consumers == Consumers::cooperative; }

/// Whether the kernel that is built for `deepest` runs `s`: the same but for fewer stages and a division of K.
constexpr bool sm120_runs(const Schedule& deepest, Schedule s) {
  const bool whole_tiles = s.split == Split{};
  const bool streams = s.split == Split{SplitKind::stream_k, 1} && sm120_splits(s.roles.consumers);
  if (s.stages < 2 || s.stages > deepest.stages || !(whole_tiles || streams)) return false;
  s.stages = deepest.stages;
  s.split = deepest.split;
  return s == deepest;
}

/// Whether a kernel of the catalogue ends so.
constexpr bool sm120_has(Epilogue epilogue, Precision precision) {
  for (const Epilogue ending : sm120_endings(precision)) {
    if (ending == epilogue) return true;
  }
  return false;
}

}  // namespace tilewright
