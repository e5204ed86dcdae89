// What stops a SM120 kernel whose collectives exist: the kernel's class, or its body.
#include <fmt/format.h>

#include "schedule/cutlass/answer.hpp"
#include "schedule/cutlass/elements.hpp"
#include "schedule/cutlass/sm120_builder.hpp"

namespace tilewright::schedule::cutlass {
namespace {

constexpr const char* kTmaMismatch = "TMA requires CTA_Tile and SLayout top-level size equivalence.";

struct MmaTile {
  int m = 0;
  int n = 0;
};

// What the warps of a group cover with one m16n8 MMA each: AtomLayout 4x2 (8x1 where N < 16), Pingpong 2x2.
MmaTile mma_tile(const CutlassRequest& request) {
  if (!sm120_cooperative(request)) return {2 * 16, 2 * 8};
  if (block_scaled(request.a) && request.tile.n < 16) return {8 * 16, 8};
  return {4 * 16, 2 * 8};
}

// The epilogue walks whole MMA tiles. EpilogueTileAuto's always are.
std::optional<CutlassBuildError> epilogue_walk_error(const CutlassRequest& request) {
  if (!request.epilogue_tile_m) return std::nullopt;
  const MmaTile mma = mma_tile(request);
  const int epi_m = *request.epilogue_tile_m;
  const int epi_n = *request.epilogue_tile_n;
  const bool larger = request.grouped ? epi_n > mma.n : epi_m * epi_n > mma.m * mma.n;
  const char* message = nullptr;
  if (epi_m % mma.m != 0) {
    message = "MMA_TILE_M must divide EPI_TILE_M";
  } else if (larger && epi_n % mma.n != 0) {
    message = "MMA_TILE_N must divide EPI_TILE_N";
  } else if (!larger && mma.n % epi_n != 0) {
    message = "EPI_TILE_N must divide MMA_TILE_N";
  }
  if (message == nullptr) return std::nullopt;
  return build_error(
      "epilogue_tile", message,
      request.grouped ? "epilogue/collective/sm90_epilogue_array_tma_warpspecialized.hpp"
                      : "epilogue/collective/sm90_epilogue_tma_warpspecialized.hpp",
      fmt::format("an epilogue tile of whole MMA tiles of {}x{}, or a part of one's columns", mma.m, mma.n));
}

std::optional<CutlassBuildError> body_error(const CutlassRequest& request) {
  const bool no_rows = block_scaled(request.a) && request.tile.m < 128;
  const bool no_columns = block_scaled(request.a) && request.tile.n < 128 && request.version < CutlassVersion::v4_5_0;
  if (block_scaled(request.a) && request.tile.k < 4 * scale_vector(request.a)) {
    return build_error(
        "tile_k", kTmaMismatch, "cute/atom/copy_traits_sm90_tma.hpp",
        fmt::format("a tile K of {}: the layout of scales has none below that", 4 * scale_vector(request.a)));
  }
  if (no_rows || no_columns) {
    return build_error(no_rows ? "tile_m" : "tile_n", kTmaMismatch, "cute/atom/copy_traits_sm90_tma.hpp",
                       no_rows ? "a tile M of 128: the layout of A's scales has no rows below that"
                               : "a tile N of 128, or CUTLASS 4.5: the layout of B's scales has no columns");
  }
  if (sm120_cooperative(request) && request.tile.m < 128) {
    return build_error(
        "tile_m", "Cooperative kernel requires Tile Size to be greater than or equal to 128 along the M-dimension.",
        request.grouped ? "gemm/kernel/sm90_gemm_array_tma_warpspecialized_cooperative.hpp"
                        : "gemm/kernel/sm90_gemm_tma_warpspecialized_cooperative.hpp",
        "a tile M of 128, or Pingpong");
  }
  return epilogue_walk_error(request);
}

// sm120_mma_builder.inl makes a kernel of one problem, sm120_array_mma_builder.inl one of an array; the kernel's class
// then looks at the problem's shape.
std::optional<CutlassBuildError> problem_shape_error(const CutlassRequest& request) {
  if (block_scaled(request.a)) return std::nullopt;
  const bool array = sm120_array_mainloop(request);
  const char* const warps = sm120_cooperative(request) ? "cooperative" : "pingpong";
  if (request.grouped && !array) {
    return build_error("problem_shape", "ProblemShape{} should be <M,N,K> or <M,N,K,L>",
                       fmt::format("gemm/kernel/sm90_gemm_tma_warpspecialized_{}.hpp", warps),
                       "KernelPtrArrayTmaWarpSpecializedCooperativeSm120<2>: only a PtrArray tag selects the array "
                       "mainloop for fp8");
  }
  if (!request.grouped && array) {
    return build_error("problem_shape",
                       "no type named ‘UnderlyingProblemShape’ in ‘struct cute::tuple<int, int, int, int>’",
                       fmt::format("gemm/kernel/sm90_gemm_array_tma_warpspecialized_{}.hpp", warps),
                       "a schedule tag without PtrArray");
  }
  return std::nullopt;
}

}  // namespace

std::optional<CutlassBuildError> sm120_kernel_error(const CutlassRequest& request) {
  if (auto error = problem_shape_error(request)) return error;
  auto error = body_error(request);
  if (error) error->in_kernel_body = true;
  return error;
}

}  // namespace tilewright::schedule::cutlass
