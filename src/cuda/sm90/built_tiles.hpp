// The SM90 schedules that kernels are built for, as constants: what gemms.cu instantiates and nothing else.
#pragma once

#include <array>

#include "tilewright/schedule.hpp"

namespace tilewright::cuda::sm90 {

/// Everything of a schedule but its epilogue.
struct BuiltTile {
  int m = 0;
  int n = 0;
  int k = 0;
  int stages = 0;
  SplitKind split = SplitKind::none;
};

/// Few tokens: 256 weight rows, as many stages as fit, K dealt evenly to the blocks; 8 tokens also by whole tiles,
/// which is faster where the tiles come out even. Many tokens: 128 rows, so that a thread has registers for 240 tokens.
/// How each came about: docs/kernels/sm90.md.
inline constexpr std::array kBuiltTiles = {
    BuiltTile{256, 8, 256, 5, SplitKind::none},      BuiltTile{256, 8, 256, 5, SplitKind::stream_k},
    BuiltTile{256, 16, 256, 4, SplitKind::stream_k}, BuiltTile{256, 24, 256, 4, SplitKind::stream_k},
    BuiltTile{256, 40, 256, 3, SplitKind::stream_k}, BuiltTile{256, 48, 256, 3, SplitKind::stream_k},
    BuiltTile{256, 64, 256, 3, SplitKind::stream_k}, BuiltTile{128, 128, 64, 7, SplitKind::none},
    BuiltTile{128, 240, 128, 3, SplitKind::none},
};

inline constexpr std::array kBuiltEpilogues = {Epilogue::gated_bf16, Epilogue::act_bf16, Epilogue::finalize,
                                               Epilogue::bf16};

constexpr Schedule schedule_of(const BuiltTile& tile, Epilogue epilogue) {
  Schedule s;
  s.arch = Arch::sm_90;
  s.precision = Precision::w4a16;
  s.mma = Mma::wgmma_rs_bf16;
  s.tile_m = tile.m;
  s.tile_n = tile.n;
  s.tile_k = tile.k;
  s.stages = tile.stages;
  s.roles = {4, tile.m / 16, Consumers::cooperative};
  s.split = {tile.split, 1};
  s.epilogue = epilogue;
  return s;
}

}  // namespace tilewright::cuda::sm90
