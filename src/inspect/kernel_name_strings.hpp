// Names that are lists of words: TensorRT-LLM's launchers and CUTLASS's library.
#pragma once

#include <optional>
#include <string_view>

#include "tilewright/kernel_name.hpp"

namespace tilewright::inspect {

/// The name after "tma_warp_specialized_generic_moe_gemm_kernelLauncher_" in `identifier`; nothing where it is none.
/// FlashInfer fb28d72, moe_gemm/launchers/moe_gemm_tma_ws_launcher.inl: arch, A, weight, output, epilogue schedule,
/// epilogue, fusion, tile of a CTA (3), cluster (3), MXFPX, dynamic cluster, bias, swap-AB.
std::optional<CutlassKernelName> read_launcher(std::string_view identifier);

/// "cutlass3x_sm120_bstensorop_...": CUTLASS's python/cutlass_library/gemm_operation.py (procedural_name); cuBLAS's own
/// builds leave the cluster out.
std::optional<CutlassKernelName> read_library(std::string_view identifier);

}  // namespace tilewright::inspect
