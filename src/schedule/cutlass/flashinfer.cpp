// FlashInfer fb28d72, csrc/nv_internal/tensorrt_llm/kernels/cutlass_kernels: moe_gemm/launchers/
// moe_gemm_tma_ws_launcher.inl (types), cutlass_heuristic.cpp (lists), moe_gemm/moe_gemm_template_dispatch_tma_ws.h
// (cases). TensorRT-LLM has the same files.
#include "schedule/cutlass/flashinfer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "schedule/cutlass/elements.hpp"
#include "schedule/cutlass/tags.hpp"

namespace tilewright {
namespace {

namespace cutlass = schedule::cutlass;
using cutlass::is_fp4;
using cutlass::is_sm10x;

// One entry of a list: of one CTA, K in bytes.
struct ListedTile {
  int m;
  int n;
  int k_bytes;
};

constexpr std::array<ListedTile, 10> kSm120Fp4 = {{{128, 128, 128},
                                                   {128, 128, 64},
                                                   {256, 128, 64},
                                                   {128, 256, 64},
                                                   {128, 128, 256},
                                                   {256, 128, 128},
                                                   {128, 32, 128},
                                                   {128, 32, 64},
                                                   {128, 64, 128},
                                                   {128, 64, 64}}};
constexpr std::array<ListedTile, 3> kSm100Fp4 = {{{128, 64, 128}, {128, 128, 128}, {128, 256, 128}}};
constexpr std::array<ListedTile, 8> kSm100OneSm = {{{128, 128, 128},
                                                    {128, 256, 128},
                                                    {128, 32, 128},
                                                    {64, 64, 128},
                                                    {64, 32, 128},
                                                    {64, 128, 128},
                                                    {64, 256, 128},
                                                    {128, 64, 128}}};
constexpr std::array<ListedTile, 6> kSm100TwoSm = {
    {{64, 128, 128}, {64, 256, 128}, {64, 64, 128}, {128, 64, 128}, {128, 128, 128}, {128, 256, 128}}};
constexpr std::array<ListedTile, 6> kSm90 = {
    {{128, 16, 128}, {128, 32, 128}, {128, 64, 128}, {128, 128, 128}, {128, 256, 128}, {256, 128, 128}}};

bool holds(std::span<const ListedTile> list, const ListedTile& tile) {
  return std::any_of(list.begin(), list.end(), [&](const ListedTile& each) {
    return each.m == tile.m && each.n == tile.n && each.k_bytes == tile.k_bytes;
  });
}

// The tile as the lists name it. The launcher multiplies M by 2 for 2SM and K by 3 on SM103.
ListedTile listed_tile(const CutlassRequest& request) {
  const CutlassTile& tile = request.tile;
  const bool ultra = request.arch == Arch::sm_103 && is_fp4(request);
  const int k = ultra ? tile.k / 3 : tile.k;
  return {cutlass::is_two_sm(request) ? tile.m / 2 : tile.m, tile.n,
          static_cast<int>(cutlass::bytes_of(k, cutlass::bits(cutlass::activation(request))))};
}

// FP4 weights with FP8 activations: the lists count them as FP4.
bool is_fp8_by_fp4(const CutlassRequest& request) {
  return cutlass::activation(request) == CutlassOperand::mxfp8 && cutlass::weight(request) == CutlassOperand::mxfp4;
}

bool sm100_lists(const CutlassRequest& request, const ListedTile& tile) {
  if (is_fp4(request) || is_fp8_by_fp4(request)) {
    // 128 x 64 is SM100's alone, and the whole list is for TMA epilogues there.
    if (request.arch == Arch::sm_103) return tile.n != 64 && holds(kSm100Fp4, tile);
    return request.epilogue_schedule.warps != CutlassEpilogueWarps::no_smem && holds(kSm100Fp4, tile);
  }
  if (cutlass::is_two_sm(request)) return holds(kSm100TwoSm, tile);
  // The dispatch lets block scales through at M = 128 and N of 64 or more alone.
  if (cutlass::block_scaled(request.a) && (tile.m != 128 || tile.n < 64)) return false;
  const bool small_fp8 = cutlass::bits(request.a) == 8 && tile.m == 128 && tile.n == 16 && tile.k_bytes == 128;
  return small_fp8 || holds(kSm100OneSm, tile);
}

// Of FP8 by FP4, kernels are generated for M = 128 and 128 bytes of K.
bool sm120_dispatches(const CutlassRequest& request, const ListedTile& tile) {
  if (!is_fp4(request)) return tile.m == 128 && tile.n <= 128 && tile.k_bytes == 128;
  const bool without_a_case =
      (tile.n == 128 && tile.m == 128 && tile.k_bytes == 256) || (tile.m == 256 && tile.k_bytes == 128);
  return !without_a_case;
}

std::string cluster_of(const CutlassRequest& request) {
  return request.cluster_m == 0 ? "a dynamic cluster"
                                : fmt::format("cluster {}x{}", request.cluster_m, request.cluster_n);
}

CutlassDefault fill_c(CutlassRequest& request) {
  const bool sm120 = kernel_arch(request.arch) == Arch::sm_120;
  if (sm120 && request.fusion == CutlassFusion::scale_factor_d) {
    // The launcher has no such epilogue, and its rule would give C four bits.
    request.c = CutlassElement::f16;
    return {"C", to_string(request.c), "as CUTLASS's example 79d"};
  }
  // D is void for the builder under finalize; the launcher's ElementD is then the output's type.
  const CutlassElement stored = request.d == CutlassElement::none ? CutlassElement::bf16 : request.d;
  request.c = sm120 ? stored : CutlassElement::none;
  const std::string why = sm120 ? "D's type on SM12x" : "D's type on SM12x alone";
  return {"C", to_string(request.c), request.grouped ? why : "as FlashInfer: " + why};
}

CutlassDefault fill_schedule(CutlassRequest& request) {
  if (!request.grouped) {
    request.schedule = {};
    return {"schedule", cutlass::tag_name(request.schedule), "CUTLASS's own default for a dense kernel"};
  }
  if (kernel_arch(request.arch) == Arch::sm_120 && !cutlass::block_scaled(request.a)) {
    // Auto with pointer layouts would select the dense builder, and the launcher has no such kernel.
    request.schedule = cutlass::launcher_schedule(request, CutlassWarps::cooperative);
    return {"schedule", cutlass::tag_name(request.schedule), "grouped FP8 on SM120 builds with an array tag only"};
  }
  request.schedule = cutlass::launcher_schedule(request, CutlassWarps::automatic);
  if (is_sm10x(request.arch)) {
    return {
        "schedule", cutlass::tag_name(request.schedule),
        fmt::format("{} for {}", request.schedule.warps == CutlassWarps::two_sm ? "2SM" : "1SM", cluster_of(request))};
  }
  return {"schedule", cutlass::tag_name(request.schedule), ""};
}

}  // namespace

namespace schedule::cutlass {

bool is_two_sm(const CutlassRequest& request) {
  if (!is_sm10x(request.arch)) return false;
  if (request.schedule.warps != CutlassWarps::automatic) return request.schedule.warps == CutlassWarps::two_sm;
  if (request.cluster_m == 0 || request.cluster_m % 2 != 0) return false;
  return block_scaled(request.a) ? request.tile.m == 256 : request.tile.m % 128 == 0;
}

CutlassSchedule launcher_schedule(const CutlassRequest& request, CutlassWarps warps) {
  const bool by_launcher = warps == CutlassWarps::automatic;
  CutlassSchedule tag{warps, CutlassTagFamily::none, request.grouped, std::nullopt, std::nullopt};
  if (request.arch == Arch::sm_90) {
    if (by_launcher) tag.warps = CutlassWarps::cooperative;
    if (request.a == CutlassOperand::fp8) tag.family = CutlassTagFamily::fp8_fast_accum;
    return tag;
  }
  if (!is_sm10x(request.arch)) {
    if (by_launcher) return {};
    if (request.grouped && !block_scaled(request.a)) {
      tag.tag_arch = Arch::sm_120;
      tag.scheduler_stages = 2;  // the only count with compiled evidence
    }
    return tag;
  }
  if (by_launcher) {
    const bool two = request.cluster_m == 0 ? request.tile.m == 256 : request.cluster_m % 2 == 0;
    tag.warps = two ? CutlassWarps::two_sm : CutlassWarps::one_sm;
  }
  tag.tag_arch = Arch::sm_100;
  const bool nvfp4 = request.a == CutlassOperand::nvfp4 && request.b == CutlassOperand::nvfp4;
  if (is_fp4(request) && request.arch == Arch::sm_103) {
    tag.tag_arch = Arch::sm_103;
    tag.family = nvfp4 ? CutlassTagFamily::ultra_vs16 : CutlassTagFamily::ultra_vs32;
  } else if (is_fp4(request)) {
    tag.family = nvfp4 ? CutlassTagFamily::nvf4 : CutlassTagFamily::mxf4;
  } else if (block_scaled(request.a) || block_scaled(request.b)) {
    tag.family = CutlassTagFamily::mxf8f6f4;
  }
  return tag;
}

CutlassEpilogueSchedule launcher_epilogue(const CutlassRequest& request, bool no_smem) {
  using W = CutlassEpilogueWarps;
  const bool grouped = request.grouped;
  const bool automatic = request.schedule.warps == CutlassWarps::automatic;
  if (is_sm10x(request.arch)) {
    if (automatic && !no_smem) return {};
    return {no_smem ? W::no_smem : W::tma, grouped, is_two_sm(request) ? 2 : 1};
  }
  if (no_smem) return {W::no_smem, grouped, 0};
  if (request.arch != Arch::sm_90)
    return grouped ? CutlassEpilogueSchedule{W::tma, false, 0} : CutlassEpilogueSchedule{};
  switch (request.schedule.warps) {
    case CutlassWarps::automatic: return {};
    case CutlassWarps::cooperative: return {W::tma_cooperative, grouped, 0};
    default: return {grouped ? W::tma_pingpong : W::tma, grouped, 0};
  }
}

}  // namespace schedule::cutlass

std::vector<CutlassDefault> fill_as_flashinfer(CutlassRequest& request, const CutlassOpen& open) {
  std::vector<CutlassDefault> filled;
  if (open.cluster && is_sm10x(request.arch) && request.tile.m == 256) {
    request.cluster_m = 2;
    filled.push_back({"cluster", "2x1", "M = 256 is a pair of CTAs"});
  }
  if (open.c) filled.push_back(fill_c(request));
  if (open.schedule) filled.push_back(fill_schedule(request));
  if (open.epilogue_schedule) {
    request.epilogue_schedule = cutlass::launcher_epilogue(request, open.no_smem);
    filled.push_back({"epilogue schedule", cutlass::tag_name(request.epilogue_schedule), ""});
  }
  // EpilogueSubTile: "SM100 Exactly".
  if (open.epilogue_tile && request.grouped && request.arch == Arch::sm_100 && is_fp4(request) &&
      request.tile.n == 256) {
    request.epilogue_tile_m = 128;
    request.epilogue_tile_n = 64;
    filled.push_back({"epilogue tile", "128x64", "SM100, FP4, N = 256"});
  }
  return filled;
}

std::optional<FlashInferCandidate> flashinfer_candidate(const CutlassRequest& request) {
  if (!request.grouped || request.fusion == CutlassFusion::scale_factor_d) return std::nullopt;
  const ListedTile tile = listed_tile(request);
  FlashInferCandidate candidate;
  candidate.name = fmt::format("CtaShape{}x{}x{}B", tile.m, tile.n, tile.k_bytes);
  candidate.variant = request.fusion == CutlassFusion::finalize ? "FINALIZE" : "NONE";
  if (request.swap_ab) candidate.variant += " swap_ab";
  candidate.dispatched = true;
  switch (kernel_arch(request.arch)) {
    case Arch::sm_120: {
      const bool fp4 = request.a == CutlassOperand::nvfp4 && request.b == CutlassOperand::nvfp4;
      const bool alone = request.cluster_m == 1 && request.cluster_n == 1;
      if ((!fp4 && !is_fp8_by_fp4(request)) || !alone || !holds(kSm120Fp4, tile)) return std::nullopt;
      candidate.list = "get_candidate_configs_sm120";
      candidate.dispatched = sm120_dispatches(request, tile);
      return candidate;
    }
    case Arch::sm_100:
    case Arch::sm_103:
      if (!sm100_lists(request, tile)) return std::nullopt;
      candidate.list = "get_candidate_configs_sm100";
      return candidate;
    case Arch::sm_90:
      if (cutlass::block_scaled(request.a) || !holds(kSm90, tile)) return std::nullopt;
      candidate.list = "get_candidate_configs_sm90";
      return candidate;
    default: return std::nullopt;
  }
}

}  // namespace tilewright
