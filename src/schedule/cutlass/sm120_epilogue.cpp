// The SM120 epilogue builder: one partial specialisation for every tag that it takes.
#include <fmt/format.h>

#include <algorithm>

#include "schedule/cutlass/answer.hpp"
#include "schedule/cutlass/elements.hpp"
#include "schedule/cutlass/sm120_builder.hpp"
#include "schedule/cutlass/tags.hpp"

namespace tilewright::schedule::cutlass {
namespace {

constexpr const char* kCollective = "epilogue/collective/sm90_epilogue_tma_warpspecialized.hpp";
constexpr const char* kFusion = "epilogue/fusion/sm120_visitor_store_tma_warpspecialized.hpp";
constexpr int kFragment = 4;    // FragmentSize: what one thread holds of each MMA
constexpr int kWarpGroups = 2;  // NumEpilogueWarpGroups, of every schedule that the builder takes
constexpr int kSyncQuads = 64;  // Sm120BlockScaleFactorRowStore: 8 warps of 8 quads

bool automatic_tile(const CutlassRequest& request) { return !request.epilogue_tile_m; }

// Before N of 8 and 16 came (CUTLASS 4.6), the tile was 64x32 whatever the CTA's.
void choose_tile(const CutlassRequest& request, EpilogueChoice& choice) {
  if (!automatic_tile(request)) {
    choice.tile_m = *request.epilogue_tile_m;
    choice.tile_n = *request.epilogue_tile_n;
    return;
  }
  const bool small_n = request.version >= CutlassVersion::v4_7_0;
  choice.tile_m = small_n && request.tile.n < 16 ? 128 : 64;
  choice.tile_n = small_n ? std::min(request.tile.n, 32) : 32;
}

std::optional<CutlassBuildError> tile_error(const CutlassRequest& request, const EpilogueChoice& choice) {
  const bool divides_m = request.tile.m % choice.tile_m == 0;
  const bool divides_n = request.tile.n % choice.tile_n == 0;
  if (divides_m && divides_n) return std::nullopt;
  const std::string remedy = fmt::format("an epilogue tile whose sides divide {}x{}", request.tile.m, request.tile.n);
  if (!automatic_tile(request)) {
    return build_error("epilogue_tile", "EpilogueTile must evenly divide CTA tile", kSm120EpilogueBuilder, remedy);
  }
  return build_error("epilogue_tile", divides_m ? "EPI_TILE_N must divide CTA_N" : "EPI_TILE_M must divide CTA_M",
                     kCollective, remedy);
}

void choose_stages(const CutlassRequest& request, EpilogueChoice& choice) {
  const int tiles = epilogue_tiles(choice);
  // Raw types: a void D has no bits, so that C and D are never one buffer.
  choice.reuse_c = bits(request.c) == bits(request.d) && bits(request.d) > 8;
  choice.stages_d = std::min(tiles, 2);
  choice.stages_c = choice.reuse_c ? std::max(std::min(tiles, 2), choice.stages_d + 1) : choice.stages_d;
}

void choose_fusion(const CutlassRequest& request, EpilogueChoice& choice) {
  if (request.fusion == CutlassFusion::finalize) {
    choice.fusion = EpilogueChoice::finalize_row(request.swap_ab, request.tile.n);
  } else if (request.fusion == CutlassFusion::scale_factor_d) {
    choice.fusion = StructLayout().member("block_amax", kSyncQuads * 4, 16);
  }
}

// The scale factors of D are computed over whole vectors of one epilogue tile.
std::optional<CutlassBuildError> scale_factor_error(const CutlassRequest& request, const EpilogueChoice& choice) {
  constexpr int kVector = 16;
  if (request.fusion != CutlassFusion::scale_factor_d || choice.tile_n % kVector == 0) return std::nullopt;
  return build_error("epilogue_tile", "EpilogueTileN should be divisible by SFVecSize", kFusion,
                     fmt::format("an epilogue tile of whole vectors of {}", kVector));
}

void add_steps(CutlassKernel& kernel, const Epilogue& epilogue) {
  const CutlassRequest& request = kernel.request;
  const EpilogueChoice& choice = epilogue.choice;
  const std::string requested_tile =
      automatic_tile(request) ? "EpilogueTileAuto" : fmt::format("{}x{}", choice.tile_m, choice.tile_n);
  kernel.steps.push_back({"epilogue schedule", tag_name(request.epilogue_schedule), epilogue.policy,
                          request.grouped ? "one builder for every TMA tag; pointer layouts make it the array form"
                                          : "one builder for every TMA tag; SM120 uses SM90's collective epilogue",
                          kSm120EpilogueBuilder});
  kernel.steps.push_back({"epilogue tile", requested_tile, fmt::format("{}x{}", choice.tile_m, choice.tile_n),
                          automatic_tile(request) ? "64 rows (128 where N < 16) x min(32, N)" : "the request says so",
                          kSm120EpilogueBuilder});
  kernel.steps.push_back({"epilogue stages", fmt::format("{} epilogue tiles", epilogue_tiles(choice)),
                          fmt::format("C {}, D {}", choice.stages_c, choice.stages_d),
                          choice.reuse_c ? "C and D have one width over 8 bits and share their buffers: D + 1 for C"
                                         : "D has min(tiles, 2); C has its own buffers, as many",
                          kSm120EpilogueBuilder});
}

}  // namespace

std::optional<Epilogue> sm120_epilogue(CutlassKernel& kernel) {
  const CutlassRequest& request = kernel.request;
  EpilogueChoice choice;
  choice.cta_m = request.tile.m;
  choice.cta_n = request.tile.n;
  choose_tile(request, choice);
  kernel.error = tile_error(request, choice);
  if (kernel.error) return std::nullopt;
  choose_stages(request, choice);
  choose_fusion(request, choice);
  choice.tensormaps = request.grouped ? 1 + kWarpGroups : 0;
  auto epilogue = tma_epilogue(request, choice);
  if (!epilogue) {
    kernel.error = epilogue_extent(
        "an epilogue tile whose rows (columns where C and D are column-major) are a multiple "
        "of 16 B in both types");
    return std::nullopt;
  }
  kernel.error = scale_factor_error(request, choice);
  if (kernel.error) return std::nullopt;
  const bool delay = request.c == CutlassElement::none;
  epilogue->policy =
      fmt::format("{}<{},{},{},{},{}{}>", request.grouped ? "Sm90PtrArrayTmaWarpSpecialized" : "Sm90TmaWarpSpecialized",
                  choice.stages_c, choice.stages_d, kFragment, choice.reuse_c, delay,
                  request.grouped ? fmt::format(",{}", kWarpGroups) : "");
  add_steps(kernel, *epilogue);
  kernel.epilogue_tile_m = choice.tile_m;
  kernel.epilogue_tile_n = choice.tile_n;
  kernel.stages_c = choice.stages_c;
  kernel.stages_d = choice.stages_d;
  kernel.epilogue_bytes = epilogue->tensors.size();
  return epilogue;
}

}  // namespace tilewright::schedule::cutlass
