#include "schedule/cutlass/sm100_epilogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "schedule/cutlass/answer.hpp"
#include "schedule/cutlass/elements.hpp"
#include "schedule/cutlass/tags.hpp"

namespace tilewright::schedule::cutlass {
namespace {

constexpr const char* kBuilder = "epilogue/collective/builders/sm100_builder.inl";

constexpr int kThreads = 128;  // of an epilogue's four warps

// The MMA's rows and columns as the epilogue sees them.
struct Extents {
  int cta_m = 0;
  int cta_n = 0;
  int warps_m = 4;  // warps down the rows of the accumulator in tensor memory, and across its columns
  int warps_n = 1;
};

// sm100_tmem_warps: a 2SM MMA of 128 rows keeps 64 in each CTA, spread over both halves of the columns.
Extents extents(const CutlassRequest& request, bool two_sm) {
  Extents e;
  e.cta_m = two_sm ? request.tile.m / 2 : request.tile.m;
  e.cta_n = request.tile.n;
  if (two_sm && request.tile.m == 128) e.warps_m = e.warps_n = 2;
  return e;
}

bool even_static_cluster(const CutlassRequest& request) { return request.cluster_m != 0 && request.cluster_m % 2 == 0; }

// The schedule without Auto: whether it is 2SM, and its name.
struct Chosen {
  CutlassEpilogueSchedule tag;
  bool two_sm = false;
};

Chosen choose_schedule(CutlassKernel& kernel) {
  const CutlassRequest& r = kernel.request;
  Chosen chosen{r.epilogue_schedule, r.epilogue_schedule.sm == 2};
  std::string rule = "the tag says so";
  if (r.epilogue_schedule.warps == CutlassEpilogueWarps::automatic) {
    const bool wide = r.tile.m == 256 || (!block_scaled(r.a) && r.tile.m == 128);
    chosen.two_sm = even_static_cluster(r) && wide;
    chosen.tag = {CutlassEpilogueWarps::tma, false, chosen.two_sm ? 2 : 1};
    rule = block_scaled(r.a) ? "2SM where the cluster is static with an even M and the tile has 256 rows"
                             : "2SM where the cluster is static with an even M and the tile has 128 or 256 rows";
  }
  kernel.steps.push_back({"epilogue schedule", tag_name(r.epilogue_schedule), tag_name(chosen.tag), rule, kBuilder});
  return chosen;
}

// A void D stands for the auxiliary output of a fused finalize, of 16 bits.
int bits_of_d(const CutlassRequest& r) { return r.d == CutlassElement::none ? 16 : bits(r.d); }

// Columns of an epilogue tile that are known to perform (N_perf).
std::pair<int, std::string> preferred_columns(const CutlassRequest& r, const Extents& e, int tile_m) {
  const bool void_c = r.c == CutlassElement::none;
  const int widest = std::max(void_c ? 0 : bits(r.c), bits_of_d(r));
  if (void_c && widest == 4) return {8192 / tile_m, "void C and 4-bit D: 8192 elements a tile"};
  if (void_c) return {4096 / tile_m, "void C: 4096 elements a tile"};
  if (widest == 32) {
    return {e.cta_m > 64 && e.cta_n <= 128 ? 16 : 32, "32-bit C or D: 16 columns up to 128 of the CTA's, else 32"};
  }
  if (widest == 16) return {e.cta_n <= 128 ? 32 : 64, "16-bit C or D: 32 columns up to 128 of the CTA's, else 64"};
  return {64, "8-bit C and D: 64 columns"};
}

// The fewest columns of which a row is 16 B in each warp's part of the accumulator.
int fewest_columns(const CutlassRequest& r, int bit_width, const Extents& e) {
  const bool m_major = r.swap_ab;
  return (bit_width == 0 || m_major ? 8 : 128 / bit_width) * e.warps_n;
}

// EpilogueTileAuto of a TMA epilogue.
void automatic_tile(CutlassKernel& kernel, EpilogueChoice& choice, const Extents& e) {
  const CutlassRequest& r = kernel.request;
  choice.tile_m = std::min(e.cta_m, 32 * e.warps_m);
  std::string rule;
  if (block_scaled(r.a) && e.cta_n == 256) {
    choice.tile_n = 128;
    rule = "block-scaled with 256 columns: 128 of them, so that the accumulators may overlap";
  } else {
    const auto [preferred, why] = preferred_columns(r, e, choice.tile_m);
    const int fewest = std::max(fewest_columns(r, bits(r.c), e), fewest_columns(r, bits_of_d(r), e));
    if (e.cta_n < fewest) {
      kernel.error = build_error("epilogue_tile", "CTA tile too small", kBuilder,
                                 fmt::format("a tile of at least {} columns", fewest));
      return;
    }
    const int columns = std::min(e.cta_n, std::max(preferred, fewest));
    // Before 4.4, a count that does not divide the CTA's stood as it was.
    const bool falls_back = r.version >= CutlassVersion::v4_4_1 && e.cta_n % columns != 0;
    choice.tile_n = falls_back ? e.cta_n : columns;
    // Each warp column takes its share of the tile from its own part of the CTA's columns.
    if (choice.tile_n < e.cta_n) choice.contiguous_n = choice.tile_n / e.warps_n;
    rule = why + (choice.tile_n == columns ? "" : fmt::format("; {} do not divide {}", columns, e.cta_n));
  }
  kernel.steps.push_back(
      {"epilogue tile", "EpilogueTileAuto", fmt::format("{}x{}", choice.tile_m, choice.tile_n), rule, kBuilder});
}

void explicit_tile(CutlassKernel& kernel, EpilogueChoice& choice) {
  const CutlassRequest& r = kernel.request;
  choice.tile_m = *r.epilogue_tile_m;
  choice.tile_n = *r.epilogue_tile_n;
  if (choice.tile_n % 8 != 0) {
    kernel.error = build_error("epilogue_tile", "Unsupported tile shape", kBuilder,
                               "a multiple of 8 columns in the epilogue tile");
    return;
  }
  const std::string name = fmt::format("{}x{}", choice.tile_m, choice.tile_n);
  kernel.steps.push_back({"epilogue tile", name, name, "the request says so", kBuilder});
}

bool policy_reuses_c(const CutlassRequest& r) { return bits(r.c) > 8; }

void choose_stages(CutlassKernel& kernel, EpilogueChoice& choice, bool array) {
  const CutlassRequest& r = kernel.request;
  const int tiles = epilogue_tiles(choice);
  choice.stages_d = std::min(tiles, 2);
  choice.stages_c = std::min(tiles, 4);
  if (policy_reuses_c(r)) choice.stages_c = std::max(choice.stages_c, choice.stages_d + 1);
  choice.reuse_c = policy_reuses_c(r) && r.d != CutlassElement::none;  // a void D takes nobody's buffers
  choice.tensormaps = array ? 2 : 0;                                   // one for C, one for D
  const char* const rule = policy_reuses_c(r) ? "at most 4 of C, one more than D's at least: C is wider than 8 bits"
                                              : "at most 4 of C and 2 of D";
  kernel.steps.push_back({"epilogue stages", fmt::format("{} epilogue tiles", tiles),
                          fmt::format("{} of C, {} of D", choice.stages_c, choice.stages_d), rule, kBuilder});
}

std::string tma_policy(const CutlassRequest& r, const EpilogueChoice& choice, bool array) {
  const bool delay = r.c == CutlassElement::none && !array;
  return fmt::format("Sm100{}TmaWarpSpecialized<{},{},{},{},{}>", array ? "PtrArray" : "", choice.stages_c,
                     choice.stages_d, choice.tile_m * choice.tile_n / kThreads, policy_reuses_c(r), delay);
}

// sm100_get_tmem_load_op: a warp reads 16 or 32 rows of tensor memory at a time, and 32 for a D of 4 bits.
void check_datapaths(CutlassKernel& kernel, const EpilogueChoice& choice, const Extents& e) {
  const int rows = choice.tile_m / e.warps_m;
  if (rows == 32 || (rows == 16 && bits(kernel.request.d) != 4)) return;
  kernel.error = build_error("epilogue_tile", "Unsupported tmem datapath count", kBuilder,
                             fmt::format("an epilogue tile of {} rows", 32 * e.warps_m));
  if (rows == 16) kernel.error->message = "num_dp == 32";
}

// shape_div: one of the two sides has to divide the other.
void check_division(CutlassKernel& kernel, const EpilogueChoice& choice) {
  const auto divides = [](int a, int b) { return a % b == 0 || b % a == 0; };
  if (divides(choice.cta_m, choice.tile_m) && divides(choice.cta_n, choice.tile_n)) return;
  kernel.error = build_error("epilogue_tile", "Divisibility Condition", "cute/int_tuple.hpp",
                             "an epilogue tile that divides the CTA's tile");
}

// What the TMA builder of 4.7 asserts of the tile that it would choose.
void check_wide_pair(CutlassKernel& kernel, const Extents& e, bool two_sm) {
  const CutlassRequest& r = kernel.request;
  const int widest = std::max(bits(r.c), bits_of_d(r));
  const bool uneven = e.cta_n > 128 && e.cta_n % 64 != 0;
  if (r.version < CutlassVersion::v4_7_0 || !two_sm || r.epilogue_tile_m || widest != 16 || !uneven) return;
  kernel.error = build_error(
      "tile_n",
      "SM100 2SM TMA epilogue: 16-bit element types (f16/bf16) with CtaN > 128 require CtaN to be divisible by 64. "
      "CtaN=160 and CtaN=224 are unsupported. Use a CtaN that is a multiple of 64 (e.g. 128, 192, 256) or use a 32-bit "
      "output type (f32).",
      kBuilder, "192 or 256 columns");
}

void tma(CutlassKernel& kernel, Sm100Epilogue& answer, const Extents& e, bool array) {
  const CutlassRequest& r = kernel.request;
  check_wide_pair(kernel, e, answer.two_sm);
  if (kernel.error) return;
  EpilogueChoice choice;
  choice.cta_m = e.cta_m;
  choice.cta_n = e.cta_n;
  if (r.fusion == CutlassFusion::finalize) choice.fusion = EpilogueChoice::finalize_row(r.swap_ab, e.cta_n);
  if (r.epilogue_tile_m) {
    explicit_tile(kernel, choice);
  } else {
    automatic_tile(kernel, choice, e);
  }
  if (!kernel.error) check_division(kernel, choice);
  if (!kernel.error) check_datapaths(kernel, choice, e);
  if (kernel.error) return;
  choose_stages(kernel, choice, array);
  auto storage = tma_epilogue(r, choice);
  if (!storage) {
    kernel.error = epilogue_extent("an epilogue tile whose rows are a multiple of 16 B");
    return;
  }
  answer.epilogue = std::move(*storage);
  answer.epilogue.policy = tma_policy(r, choice, array);
}

// Legacy thread::LinearCombination has no storage; the callbacks have a byte and an empty buffer after it, each 16 B.
StructLayout no_smem_tensors(bool callbacks) {
  StructLayout layout;
  if (!callbacks) return layout.member("none", 1, 1);
  return layout.member("fusion", 1, 1).member("buffer", 16, 16);
}

void no_smem(CutlassKernel& kernel, Sm100Epilogue& answer, const Extents& e, bool array) {
  const CutlassRequest& r = kernel.request;
  EpilogueChoice choice;
  choice.cta_m = e.cta_m;
  choice.cta_n = e.cta_n;
  if (r.epilogue_tile_m) {
    explicit_tile(kernel, choice);
    if (kernel.error) return;
  } else {
    choice.tile_m = e.cta_m;
    choice.tile_n = std::min(64, e.cta_n);
    kernel.steps.push_back({"epilogue tile", "EpilogueTileAuto", fmt::format("{}x{}", choice.tile_m, choice.tile_n),
                            "all rows of the CTA and at most 64 columns, to save registers", kBuilder});
  }
  check_datapaths(kernel, choice, e);
  if (!kernel.error) check_division(kernel, choice);
  choice.stages_c = choice.stages_d = 1;
  answer.no_smem = true;
  answer.epilogue.choice = choice;
  answer.epilogue.policy = array ? "Sm100PtrArrayNoSmemWarpSpecialized" : "Sm100NoSmemWarpSpecialized";
  answer.epilogue.tensors = no_smem_tensors(block_scaled(r.a) || !array);
  answer.epilogue.storage_bytes = answer.epilogue.tensors.size();
}

}  // namespace

Sm100Epilogue choose_sm100_epilogue(CutlassKernel& kernel) {
  const CutlassRequest& r = kernel.request;
  Sm100Epilogue answer;
  if (r.epilogue_schedule.warps == CutlassEpilogueWarps::automatic && r.epilogue_tile_m) {
    kernel.error = build_error("epilogue_tile", "Don't specify epilogue tile with auto schedule", kBuilder,
                               "EpilogueTileAuto, or an epilogue schedule by name");
    return answer;
  }
  const Chosen chosen = choose_schedule(kernel);
  answer.two_sm = chosen.two_sm;
  if (chosen.two_sm && r.cluster_m % 2 == 1) {
    kernel.error = build_error("cluster", "schedule + cluster mismatch", kBuilder, "a cluster with an even M");
    return answer;
  }
  const Extents e = extents(r, chosen.two_sm);
  if (chosen.tag.warps == CutlassEpilogueWarps::no_smem) {
    no_smem(kernel, answer, e, chosen.tag.ptr_array);
  } else {
    tma(kernel, answer, e, chosen.tag.ptr_array);
  }
  kernel.epilogue_tile_m = answer.epilogue.choice.tile_m;
  kernel.epilogue_tile_n = answer.epilogue.choice.tile_n;
  kernel.stages_c = answer.epilogue.choice.stages_c;
  kernel.stages_d = answer.epilogue.choice.stages_d;
  return answer;
}

}  // namespace tilewright::schedule::cutlass
