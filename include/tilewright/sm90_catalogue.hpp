// The SM90 catalogue: one kernel a tile and ending. The planner offers these schedules and no others, and the kernels
// are instantiated from this list.
#pragma once

#include <array>

#include "tilewright/schedule.hpp"

namespace tilewright {

/// Everything of an SM90 schedule but its ending: w4a16, a warpgroup of consumers for each 64 weight rows.
struct Sm90Tile {
  int m = 0;
  int n = 0;
  int k = 0;
  int stages = 0;
  SplitKind split = SplitKind::none;
};

/// Few tokens: 256 weight rows, as many stages as fit, K dealt evenly to the blocks; 8 tokens also by whole tiles,
/// which is faster where the tiles come out even. Many tokens: two warpgroups have registers for 240, three for 176,
/// four for 112; more rows ask less of L2, more tokens pad less and decode less. How each came about:
/// docs/kernels/sm90.md.
inline constexpr std::array kSm90Tiles = {
    Sm90Tile{256, 8, 256, 5, SplitKind::none},      Sm90Tile{256, 8, 256, 5, SplitKind::stream_k},
    Sm90Tile{256, 16, 256, 4, SplitKind::stream_k}, Sm90Tile{256, 24, 256, 4, SplitKind::stream_k},
    Sm90Tile{256, 40, 256, 3, SplitKind::stream_k}, Sm90Tile{256, 48, 256, 3, SplitKind::stream_k},
    Sm90Tile{256, 64, 256, 3, SplitKind::stream_k}, Sm90Tile{128, 240, 128, 3, SplitKind::none},
    Sm90Tile{192, 176, 128, 3, SplitKind::none},    Sm90Tile{256, 112, 128, 4, SplitKind::none},
};

/// What happens to a tile, and where its tokens come from; for tiles of `least_n` tokens or more. The kernels between
/// GEMM1 and GEMM2 pass activations in tile order. GEMM1 gathers its tokens; many of them may be put into tile order
/// first, which costs a pass over them and saves the copies' instructions.
struct Sm90Ending {
  Epilogue epilogue = Epilogue::bf16;
  TokenLoad token_load = TokenLoad::gather;
  int least_n = 0;
};
inline constexpr std::array kSm90Endings = {
    Sm90Ending{Epilogue::gated_bf16, TokenLoad::gather, 8},
    Sm90Ending{Epilogue::act_bf16, TokenLoad::gather, 8},
    Sm90Ending{Epilogue::finalize, TokenLoad::tile_order, 8},
    Sm90Ending{Epilogue::bf16, TokenLoad::gather, 8},
    Sm90Ending{Epilogue::gated_bf16, TokenLoad::tile_order, 112},
    Sm90Ending{Epilogue::act_bf16, TokenLoad::tile_order, 112},
};

/// How many of kSm90Endings, from the first one on, a tile has.
constexpr int sm90_endings(const Sm90Tile& tile) {
  int count = 0;
  for (const Sm90Ending& ending : kSm90Endings) count += tile.n >= ending.least_n ? 1 : 0;
  return count;
}

constexpr Schedule sm90_schedule(const Sm90Tile& tile, const Sm90Ending& ending) {
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
  s.token_load = ending.token_load;
  s.epilogue = ending.epilogue;
  return s;
}

/// With the first ending of this epilogue; of one that SM90 does not have, gathered tokens.
constexpr Schedule sm90_schedule(const Sm90Tile& tile, Epilogue epilogue) {
  for (const Sm90Ending& ending : kSm90Endings) {
    if (ending.epilogue == epilogue) return sm90_schedule(tile, ending);
  }
  return sm90_schedule(tile, Sm90Ending{epilogue, TokenLoad::gather, 0});
}

/// Columns of the wgmma that multiplies a tile of `rows` tokens: the smallest size that covers them of those that the
/// kernel has a mainloop for, at most tile_n. Every column costs: its sums are read and written at each step. Two
/// warpgroups have registers for a choice of sizes; with three and four, ptxas stops leaving
/// wgmmas in flight when there are more.
constexpr int sm90_wgmma_n(const Schedule& s, int rows) {
  constexpr std::array kTwo = {128, 144, 160, 176, 192, 240};
  constexpr std::array kThree = {128, 144, 176};
  constexpr std::array kFour = {80, 112};
  const auto smallest = [&](const auto& sizes) {
    for (const int size : sizes) {
      if (size >= rows && size < s.tile_n) return size;
    }
    return s.tile_n;
  };
  if (s.tile_n == 64) return 64;
  if (s.tile_n < 64) return rows <= s.tile_n - 8 && s.tile_n > 8 ? s.tile_n - 8 : s.tile_n;
  const int warpgroups = s.roles.consumer_warps / 4;
  return warpgroups == 2 ? smallest(kTwo) : warpgroups == 3 ? smallest(kThree) : smallest(kFour);
}

/// Token tiles are cut to multiples of this many rows (src/cuda/grouped/tile_walk.hpp).
constexpr int sm90_granule(const Schedule& s) { return s.tile_n > 64 ? 16 : 8; }

/// Whether a kernel of the catalogue ends so.
constexpr bool sm90_has(Epilogue epilogue) {
  for (const Sm90Ending& ending : kSm90Endings) {
    if (ending.epilogue == epilogue) return true;
  }
  return false;
}

}  // namespace tilewright
