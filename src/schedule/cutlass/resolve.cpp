// resolve_cutlass: what every architecture checks, then the architecture's own rules.
#include <fmt/format.h>

#include "schedule/cutlass/answer.hpp"
#include "schedule/cutlass/sm100.hpp"
#include "schedule/cutlass/sm103.hpp"
#include "schedule/cutlass/sm120.hpp"
#include "schedule/cutlass/sm90.hpp"

namespace tilewright {
namespace {

namespace cutlass = schedule::cutlass;

// Far above any tile that fits, and far below where products of three overflow.
constexpr int kLargestExtent = 65536;
constexpr int kLargestCluster = 16;
constexpr int kMostStages = 1024;

bool within(int value, int low, int high) { return value >= low && value <= high; }

// Sizes that are not positive numbers of any kernel.
Status check_sizes(const CutlassRequest& request) {
  const CutlassTile& tile = request.tile;
  if (!within(tile.m, 1, kLargestExtent) || !within(tile.n, 1, kLargestExtent) || !within(tile.k, 1, kLargestExtent)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("tile {}x{}x{} is not of 1 to {} elements a side", tile.m, tile.n, tile.k, kLargestExtent));
  }
  const bool dynamic = request.cluster_m == 0 && request.cluster_n == 0;
  if (!dynamic && (!within(request.cluster_m, 1, kLargestCluster) || !within(request.cluster_n, 1, kLargestCluster))) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("cluster {}x{} is not of 1 to {} blocks a side", request.cluster_m, request.cluster_n,
                            kLargestCluster),
                "0x0 is a dynamic cluster");
  }
  const CutlassStages& stages = request.stages;
  if (stages.rule == CutlassStageRule::explicit_count && !within(stages.count, 1, kMostStages)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("StageCount<{}> is not of 1 to {} stages", stages.count, kMostStages));
  }
  if (stages.carveout_bytes && (*stages.carveout_bytes < 0 || *stages.carveout_bytes > smem_per_block(request.arch))) {
    return fail(ErrorCode::invalid_argument, fmt::format("a carve-out of {} B is not of 0 to {} B, a block's memory",
                                                         *stages.carveout_bytes, smem_per_block(request.arch)));
  }
  if (request.epilogue_tile_m.has_value() != request.epilogue_tile_n.has_value()) {
    return fail(ErrorCode::invalid_argument, "an epilogue tile has one side only", "give both sides, or neither");
  }
  if (request.epilogue_tile_m &&
      (!within(*request.epilogue_tile_m, 1, kLargestExtent) || !within(*request.epilogue_tile_n, 1, kLargestExtent))) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("epilogue tile {}x{} is not of 1 to {} elements a side", *request.epilogue_tile_m,
                            *request.epilogue_tile_n, kLargestExtent));
  }
  return {};
}

}  // namespace

Result<CutlassKernel> resolve_cutlass(const CutlassRequest& request) {
  const char* const architectures = "sm_90, sm_100, sm_103, sm_120 and sm_121";
  if (request.arch == Arch::cpu || request.arch == Arch::sm_110) {
    return cutlass::not_covered(request, "CUTLASS's builders", architectures);
  }
  TILEWRIGHT_TRY(check_sizes(request));
  switch (request.arch) {
    case Arch::sm_90: return cutlass::resolve_sm90(request);
    case Arch::sm_100: return cutlass::resolve_sm100(request);
    case Arch::sm_103: return cutlass::resolve_sm103(request);
    default: return cutlass::resolve_sm120(request);
  }
}

}  // namespace tilewright
