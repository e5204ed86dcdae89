#include "schedule/cutlass/remedy_changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include "schedule/cutlass/elements.hpp"
#include "schedule/cutlass/tags.hpp"

namespace tilewright::schedule::cutlass {
namespace {

using Epilogue = CutlassEpilogueSchedule;
using EpilogueWarps = CutlassEpilogueWarps;
using Family = CutlassTagFamily;
using Warps = CutlassWarps;

constexpr const char* kUnusedC =
    "nothing, finalize does not read C; TensorRT-LLM gave SM120 one after a fault without it (PR 5636)";

struct Tags {
  CutlassSchedule schedule;
  Epilogue epilogue;
};

// The families that name the MMA of SM100's and SM103's operands.
Family sm10x_family(const CutlassRequest& request) {
  if (request.arch == Arch::sm_103) {
    return request.a == CutlassOperand::nvfp4 ? Family::ultra_vs16 : Family::ultra_vs32;
  }
  if (!block_scaled(request.a)) return Family::none;
  if (request.a == CutlassOperand::nvfp4) return Family::nvf4;
  const bool fp4 = request.a == CutlassOperand::mxfp4 && request.b == CutlassOperand::mxfp4;
  return fp4 ? Family::mxf4 : Family::mxf8f6f4;
}

std::vector<Tags> sm10x_tags(const CutlassRequest& request) {
  std::vector<Tags> tags;
  for (const int sm : {1, 2}) {
    const CutlassSchedule schedule{sm == 1 ? Warps::one_sm : Warps::two_sm, sm10x_family(request), request.grouped,
                                   request.arch, std::nullopt};
    tags.push_back({schedule, {EpilogueWarps::tma, request.grouped, sm}});
    tags.push_back({schedule, {EpilogueWarps::no_smem, request.grouped, sm}});
  }
  return tags;
}

std::vector<Tags> sm90_tags(const CutlassRequest& request) {
  std::vector<Tags> tags;
  for (const Warps warps : {Warps::cooperative, Warps::pingpong}) {
    Epilogue epilogue{EpilogueWarps::tma_cooperative, request.grouped, 0};
    if (warps == Warps::pingpong) {
      epilogue.warps = request.grouped ? EpilogueWarps::tma_pingpong : EpilogueWarps::tma;
    }
    tags.push_back({{warps, Family::none, request.grouped, std::nullopt, std::nullopt}, epilogue});
  }
  return tags;
}

std::vector<Tags> sm120_tags(const CutlassRequest& request) {
  std::vector<Tags> tags;
  // fp8 arrays have tags of their own, with the scheduler's stages in them; CUTLASS's tests take 2.
  const bool array_of_fp8 = request.grouped && !block_scaled(request.a);
  for (const Warps warps : {Warps::cooperative, Warps::pingpong}) {
    CutlassSchedule schedule{warps, Family::none, request.grouped, std::nullopt, std::nullopt};
    if (array_of_fp8) {
      schedule.tag_arch = Arch::sm_120;
      schedule.scheduler_stages = 2;
    }
    // Its own epilogue tag first: SM120 takes most of them.
    tags.push_back({schedule, request.epilogue_schedule});
    tags.push_back({schedule, {}});
  }
  return tags;
}

std::vector<Tags> tags_of(const CutlassRequest& request) {
  std::vector<Tags> tags = {{{}, request.epilogue_schedule}, {{}, {}}};
  std::vector<Tags> more;
  if (request.arch == Arch::sm_90) {
    more = sm90_tags(request);
  } else if (kernel_arch(request.arch) == Arch::sm_120) {
    more = sm120_tags(request);
  } else {
    more = sm10x_tags(request);
  }
  tags.insert(tags.end(), more.begin(), more.end());
  return tags;
}

// How far a tile is from the one that was asked for: the product of the ratios of their sides, each above 1. A side
// that grows counts twice: a larger tile takes more of what there was too little of.
double distance(const CutlassTile& asked, const CutlassTile& tile) {
  const auto ratio = [](int from, int to) { return to > from ? 2.0 * to / from : static_cast<double>(from) / to; };
  return ratio(asked.m, tile.m) * ratio(asked.n, tile.n) * ratio(asked.k, tile.k);
}

}  // namespace

std::vector<Change> fewer_stages(const CutlassKernel& kernel) {
  std::vector<Change> changes;
  for (int stages = std::max(kernel.stages - 1, 2); stages >= 2; --stages) {
    if (stages == kernel.stages) continue;
    Change change{fmt::format("StageCount<{}>", stages), "fewer loads in flight", kernel.request};
    change.request.stages = {CutlassStageRule::explicit_count, stages, std::nullopt};
    changes.push_back(std::move(change));
  }
  return changes;
}

std::vector<Change> without_c(const CutlassRequest& request) {
  if (request.c == CutlassElement::none) return {};
  const bool unused = request.fusion == CutlassFusion::finalize;
  Change change{"ElementC = void", unused ? kUnusedC : "beta * C", request};
  change.request.c = CutlassElement::none;
  return {change};
}

std::vector<Change> smaller_epilogue_tiles(const CutlassKernel& kernel) {
  std::vector<Change> changes;
  const int tile_m = kernel.epilogue_tile_m;
  for (int tile_n = kernel.epilogue_tile_n / 2; tile_m > 0 && tile_n >= 8; tile_n /= 2) {
    Change change{fmt::format("EpilogueTile {}x{}", tile_m, tile_n), "more and smaller stores", kernel.request};
    change.request.epilogue_tile_m = tile_m;
    change.request.epilogue_tile_n = tile_n;
    changes.push_back(std::move(change));
  }
  return changes;
}

std::vector<Change> swapped(const CutlassRequest& request) {
  Change change{"swap A and B", "the launcher exchanges the operands, their layouts and M with N", request};
  change.request.swap_ab = !request.swap_ab;
  std::swap(change.request.a, change.request.b);
  return {change};
}

std::vector<Change> other_tags(const CutlassRequest& request) {
  std::vector<Change> changes;
  for (const Tags& tags : tags_of(request)) {
    if (tags.schedule == request.schedule && tags.epilogue == request.epilogue_schedule) continue;
    const bool new_epilogue = tags.epilogue != request.epilogue_schedule;
    const bool new_schedule = tags.schedule != request.schedule;
    std::string text = new_schedule ? tag_name(tags.schedule) : "";
    if (new_epilogue) text += (new_schedule ? " with " : "") + tag_name(tags.epilogue);
    Change change{std::move(text), "nothing but the tag", request};
    change.request.schedule = tags.schedule;
    change.request.epilogue_schedule = tags.epilogue;
    changes.push_back(std::move(change));
  }
  return changes;
}

std::vector<Change> plainer_requests(const CutlassRequest& request) {
  std::vector<Change> changes;
  for (const int cluster_m : {1, 2}) {
    if (request.cluster_m == cluster_m && request.cluster_n == 1) continue;
    Change change{fmt::format("cluster {}x1", cluster_m),
                  cluster_m == 1 ? "no multicast between blocks" : "two blocks for a tile", request};
    change.request.cluster_m = cluster_m;
    change.request.cluster_n = 1;
    changes.push_back(std::move(change));
  }
  if (request.epilogue_tile_m) {
    Change change{"EpilogueTileAuto", "the epilogue tile that was asked for", request};
    change.request.epilogue_tile_m = std::nullopt;
    change.request.epilogue_tile_n = std::nullopt;
    changes.push_back(std::move(change));
  }
  const CutlassStages automatic;
  if (!(request.stages == automatic)) {
    Change change{"StageCountAutoCarveout<sizeof(epilogue)>", "the stage count that was asked for", request};
    change.request.stages = automatic;
    changes.push_back(std::move(change));
  }
  return changes;
}

std::vector<Change> other_tiles(const CutlassRequest& request) {
  constexpr std::array<int, 3> kM = {256, 128, 64};
  constexpr std::array<int, 7> kN = {256, 192, 128, 64, 32, 16, 8};
  constexpr std::array<int, 5> kK = {768, 512, 256, 128, 64};
  std::vector<Change> changes;
  for (const int m : kM) {
    for (const int n : kN) {
      for (const int k : kK) {
        const CutlassTile tile{m, n, k};
        if (tile == request.tile) continue;
        Change change{fmt::format("tile {}x{}x{}", m, n, k), "another tile: measure it", request};
        change.request.tile = tile;
        changes.push_back(std::move(change));
      }
    }
  }
  std::stable_sort(changes.begin(), changes.end(), [&](const Change& x, const Change& y) {
    return distance(request.tile, x.request.tile) < distance(request.tile, y.request.tile);
  });
  return changes;
}

}  // namespace tilewright::schedule::cutlass
