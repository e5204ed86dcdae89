// GemmUniversal::SharedStorage of the SM90 kernels.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/cutlass/sm90_epilogue.hpp"

namespace tilewright::schedule::cutlass {

/// The parts that the mainloop builder decides.
struct Sm90Mainloop {
  CutlassWarps warps = CutlassWarps::cooperative;
  StructLayout tensors;  ///< CollectiveMainloop::TensorStorage
  int stages = 0;
};

/// The struct, in the order of sm90_gemm_[array_]tma_warpspecialized[_cooperative|_pingpong].hpp.
std::vector<CutlassStorage> sm90_storage(const CutlassRequest& request, const Sm90Mainloop& mainloop,
                                         const Sm90Epilogue& epilogue);

}  // namespace tilewright::schedule::cutlass
