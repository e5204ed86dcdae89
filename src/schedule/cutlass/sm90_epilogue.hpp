// What the SM90 epilogue builder chooses.
#pragma once

#include "schedule/cutlass/epilogue.hpp"

namespace tilewright::schedule::cutlass {

struct Sm90Epilogue {
  Epilogue epilogue;
  CutlassEpilogueWarps warps = CutlassEpilogueWarps::tma;  ///< never automatic
  bool ptr_array = false;

  [[nodiscard]] bool no_smem() const { return warps == CutlassEpilogueWarps::no_smem; }
};

/// Chooses the epilogue's schedule, tile, stages and storage, and notes the steps in `kernel` with the tile and the
/// stages: none and -1 of a NoSmem epilogue, which has neither. An assertion that stops the build is in `kernel.error`.
Sm90Epilogue choose_sm90_epilogue(CutlassKernel& kernel);

}  // namespace tilewright::schedule::cutlass
