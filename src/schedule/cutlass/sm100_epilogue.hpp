// What the SM100 epilogue builder chooses. SM103's builder forwards to it (sm103_builder.inl).
#pragma once

#include "schedule/cutlass/epilogue.hpp"

namespace tilewright::schedule::cutlass {

/// An SM100 or SM103 kernel's epilogue: through shared memory by TMA, or straight from registers.
struct Sm100Epilogue {
  Epilogue epilogue;
  bool two_sm = false;   ///< what the epilogue's schedule takes the MMA for
  bool no_smem = false;  ///< one that stores from registers
};

/// Chooses the epilogue's schedule, tile, stages and storage, and notes the steps in `kernel` with the tile and the
/// stages. An assertion that stops the build is in `kernel.error`.
Sm100Epilogue choose_sm100_epilogue(CutlassKernel& kernel);

}  // namespace tilewright::schedule::cutlass
