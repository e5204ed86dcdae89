#include "schedule/cutlass/sm90_epilogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "schedule/cutlass/answer.hpp"
#include "schedule/cutlass/elements.hpp"
#include "schedule/cutlass/tags.hpp"

namespace tilewright::schedule::cutlass {
namespace {

constexpr const char* kBuilder = "epilogue/collective/builders/sm90_builder.inl";
constexpr const char* kTmaCollective = "epilogue/collective/sm90_epilogue_tma_warpspecialized.hpp";
constexpr const char* kTmaArrayCollective = "epilogue/collective/sm90_epilogue_array_tma_warpspecialized.hpp";

bool cooperative(const Sm90Epilogue& e) { return e.warps == CutlassEpilogueWarps::tma_cooperative; }

// Warp groups that each keep a tensor map of D, in grouped kernels (epilogue/dispatch_policy.hpp).
int warp_groups(const Sm90Epilogue& e) { return e.warps == CutlassEpilogueWarps::tma ? 1 : 2; }

void automatic_tile(CutlassKernel& kernel, EpilogueChoice& choice, const Sm90Epilogue& e) {
  const CutlassRequest& r = kernel.request;
  const bool wide = !cooperative(e) && bits(r.d) == 8 && r.tile.n % 64 == 0;
  const int rows = cooperative(e) ? 128 : 64;
  const int columns = wide ? 64 : 32;
  choice.tile_m = std::min(rows, r.tile.m);
  choice.tile_n = std::gcd(std::min(columns, r.tile.n), r.tile.n);
  kernel.steps.push_back(
      {"epilogue tile", "EpilogueTileAuto", fmt::format("{}x{}", choice.tile_m, choice.tile_n),
       fmt::format("{} rows of a {} epilogue, at most {} columns that divide the tile's{}", rows,
                   cooperative(e) ? "cooperative" : "warp-specialized", columns, wide ? ", D being of 8 bits" : ""),
       kBuilder});
}

// sm90_compute_tile_shape_or_override, and the collective's checks after it.
void explicit_tile(CutlassKernel& kernel, EpilogueChoice& choice, const Sm90Epilogue& e) {
  const CutlassRequest& r = kernel.request;
  choice.tile_m = *r.epilogue_tile_m;
  choice.tile_n = *r.epilogue_tile_n;
  const int rows = cooperative(e) ? 128 : 64;
  if (choice.tile_m != rows || choice.tile_n % 16 != 0) {
    kernel.error = build_error("epilogue_tile", "Unsupported tile shape", kBuilder,
                               fmt::format("an epilogue tile of {} rows and a multiple of 16 columns", rows));
    return;
  }
  const char* const file = e.ptr_array ? kTmaArrayCollective : kTmaCollective;
  const auto divides = [](int a, int b) { return a % b == 0 || b % a == 0; };
  if (!divides(r.tile.m, choice.tile_m) || !divides(r.tile.n, choice.tile_n)) {
    kernel.error = build_error("epilogue_tile", "Divisibility Condition", "cute/int_tuple.hpp",
                               "an epilogue tile that divides the CTA's tile");
    return;
  }
  if (r.tile.m % choice.tile_m != 0) {
    kernel.error = build_error("epilogue_tile", "EPI_TILE_M must divide CTA_M", file,
                               fmt::format("a tile with a multiple of {} rows", choice.tile_m));
    return;
  }
  if (r.tile.n % choice.tile_n != 0) {
    kernel.error = build_error("epilogue_tile", "EPI_TILE_N must divide CTA_N", file,
                               fmt::format("an epilogue tile whose columns divide {}", r.tile.n));
    return;
  }
  const std::string name = fmt::format("{}x{}", choice.tile_m, choice.tile_n);
  kernel.steps.push_back({"epilogue tile", name, name, "the request says so", kBuilder});
}

// A void D stands for the auxiliary output of a fused finalize, of 16 bits.
int bits_of_d(const CutlassRequest& r) { return r.d == CutlassElement::none ? 16 : bits(r.d); }

bool policy_reuses_c(const CutlassRequest& r) { return bits(r.c) == bits_of_d(r) && bits_of_d(r) > 8; }

// sm90_get_tma_dispatch_policy.
void choose_stages(CutlassKernel& kernel, EpilogueChoice& choice, const Sm90Epilogue& e) {
  const CutlassRequest& r = kernel.request;
  const int tiles = epilogue_tiles(choice);
  choice.stages_d = std::min(tiles, 2);
  choice.stages_c = std::min(tiles, 4);
  if (policy_reuses_c(r)) choice.stages_c = std::max(choice.stages_c, choice.stages_d + 1);
  choice.reuse_c = policy_reuses_c(r) && r.d != CutlassElement::none;  // a void D takes nobody's buffers
  choice.tensormaps = e.ptr_array ? 1 + warp_groups(e) : 0;
  const char* const rule = policy_reuses_c(r)
                               ? "at most 4 of C, one more than D's at least: both have one width over 8 bits"
                               : "at most 4 of C and 2 of D";
  kernel.steps.push_back({"epilogue stages", fmt::format("{} epilogue tiles", tiles),
                          fmt::format("{} of C, {} of D", choice.stages_c, choice.stages_d), rule, kBuilder});
}

std::string tma_policy(const CutlassRequest& r, const EpilogueChoice& choice, const Sm90Epilogue& e) {
  const int fragment = choice.tile_m * choice.tile_n / (cooperative(e) ? 256 : 128);
  const bool delay = r.c == CutlassElement::none && !e.ptr_array;
  return fmt::format("Sm90{}TmaWarpSpecialized<{},{},{},{},{}{}>", e.ptr_array ? "PtrArray" : "", choice.stages_c,
                     choice.stages_d, fragment, policy_reuses_c(r), delay,
                     e.ptr_array ? fmt::format(",{}", warp_groups(e)) : std::string());
}

void tma(CutlassKernel& kernel, Sm90Epilogue& e) {
  const CutlassRequest& r = kernel.request;
  EpilogueChoice choice;
  choice.cta_m = r.tile.m;
  choice.cta_n = r.tile.n;
  if (r.fusion == CutlassFusion::finalize) choice.fusion = EpilogueChoice::finalize_row(r.swap_ab, r.tile.n);
  if (r.epilogue_tile_m) {
    explicit_tile(kernel, choice, e);
  } else {
    automatic_tile(kernel, choice, e);
  }
  if (kernel.error) return;
  choose_stages(kernel, choice, e);
  auto storage = tma_epilogue(r, choice);
  if (!storage) {
    kernel.error = epilogue_extent("an epilogue tile whose rows are a multiple of 16 B");
    return;
  }
  e.epilogue = std::move(*storage);
  e.epilogue.policy = tma_policy(r, choice, e);
  kernel.epilogue_tile_m = choice.tile_m;
  kernel.epilogue_tile_n = choice.tile_n;
  kernel.stages_c = choice.stages_c;
  kernel.stages_d = choice.stages_d;
}

}  // namespace

Sm90Epilogue choose_sm90_epilogue(CutlassKernel& kernel) {
  const CutlassEpilogueSchedule& tag = kernel.request.epilogue_schedule;
  Sm90Epilogue e;
  e.warps = tag.warps;
  e.ptr_array = tag.ptr_array;
  std::string rule = "the tag says so";
  if (tag.warps == CutlassEpilogueWarps::automatic) {
    e.warps = CutlassEpilogueWarps::no_smem;
    rule = "Auto is NoSmem: a TMA epilogue would not go with every mainloop";
  }
  kernel.steps.push_back(
      {"epilogue schedule", tag_name(tag), tag_name(CutlassEpilogueSchedule{e.warps, e.ptr_array, 0}), rule, kBuilder});
  if (!e.no_smem()) {
    tma(kernel, e);
    return e;
  }
  e.epilogue.tensors.member("none", 1, 1);  // DefaultEpilogue's empty SharedStorage
  e.epilogue.storage_bytes = e.epilogue.tensors.size();
  e.epilogue.policy = e.ptr_array ? "PtrArrayNoSmemWarpSpecialized" : "NoSmemWarpSpecialized";
  kernel.stages_c = kernel.stages_d = -1;
  return e;
}

}  // namespace tilewright::schedule::cutlass
