// The SM90 catalogue: one kernel a tile and epilogue. The planner offers these schedules and no others, and the kernels
// are instantiated from this list.
#pragma once

#include <array>

#include "tilewright/schedule.hpp"

namespace tilewright {

/// Everything of an SM90 schedule but its epilogue: w4a16, a warpgroup of consumers for each 64 weight rows.
struct Sm90Tile {
  int m = 0;
  int n = 0;
  int k = 0;
  int stages = 0;
  SplitKind split = SplitKind::none;
};

/// Few tokens: 256 weight rows, as many stages as fit, K dealt evenly to the blocks; 8 tokens also by whole tiles,
/// which is faster where the tiles come out even. Many tokens: 128 rows, so that a thread has registers for 240 tokens.
/// How each came about: docs/kernels/sm90.md.
inline constexpr std::array kSm90Tiles = {
    Sm90Tile{256, 8, 256, 5, SplitKind::none},      Sm90Tile{256, 8, 256, 5, SplitKind::stream_k},
    Sm90Tile{256, 16, 256, 4, SplitKind::stream_k}, Sm90Tile{256, 24, 256, 4, SplitKind::stream_k},
    Sm90Tile{256, 40, 256, 3, SplitKind::stream_k}, Sm90Tile{256, 48, 256, 3, SplitKind::stream_k},
    Sm90Tile{256, 64, 256, 3, SplitKind::stream_k}, Sm90Tile{128, 128, 64, 7, SplitKind::none},
    Sm90Tile{128, 240, 128, 3, SplitKind::none},
};

inline constexpr std::array kSm90Epilogues = {Epilogue::gated_bf16, Epilogue::act_bf16, Epilogue::finalize,
                                              Epilogue::bf16};

constexpr Schedule sm90_schedule(const Sm90Tile& tile, Epilogue epilogue) {
  Schedule s;
  s.arch = Arch::sm_90;
  s.precision = Precision::w4a16;
  s.mma = Mma::wgmma_rs_bf16;
  s.tile_m = tile.m;
  s.tile_n = tile.n;
  s.tile_k = tile.k;
  s.stages = tile.stages;
  // setmaxnreg moves registers between whole warpgroups, so the producer is one.
  s.roles = {4, tile.m / 16, Consumers::cooperative};
  s.split = {tile.split, 1};
  s.epilogue = epilogue;
  return s;
}

}  // namespace tilewright
