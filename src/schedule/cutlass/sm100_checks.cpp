#include "schedule/cutlass/sm100_checks.hpp"

#include <fmt/format.h>

#include <utility>

#include "schedule/cutlass/answer.hpp"
#include "schedule/cutlass/elements.hpp"
#include "schedule/cutlass/tags.hpp"

namespace tilewright::schedule::cutlass {
namespace {

constexpr const char* kCommon = "gemm/collective/builders/sm100_common.inl";
constexpr const char* kSm1xxCommon = "gemm/collective/builders/sm1xx_common.inl";
constexpr const char* kUmma = "cute/arch/mma_sm100_umma.hpp";

using Family = CutlassTagFamily;
using Found = std::optional<CutlassBuildError>;

bool is_auto(const CutlassRequest& r) { return r.schedule.warps == CutlassWarps::automatic; }

bool even_static_cluster(const CutlassRequest& r) { return r.cluster_m != 0 && r.cluster_m % 2 == 0; }

// CollectiveBuilder's specialisations key on the tag's base classes: with block scales or without.
bool tag_of_this_builder(const CutlassRequest& r) {
  if (is_auto(r)) return true;
  const bool sm = r.schedule.warps == CutlassWarps::one_sm || r.schedule.warps == CutlassWarps::two_sm;
  if (!sm || r.schedule.tag_arch != Arch::sm_100) return false;
  const bool scaled_tag = r.schedule.family == Family::block_scaled || r.schedule.family == Family::nvf4 ||
                          r.schedule.family == Family::mxf4 || r.schedule.family == Family::mxf8f6f4;
  return block_scaled(r.a) ? scaled_tag : r.schedule.family == Family::none;
}

CutlassBuildError policy_error(const char* message, const char* remedy) {
  return build_error("tag_family", message, kSm1xxCommon, remedy);
}

// check_input_datatypes: the tag's instruction and scale vector against the operands'.
Found check_family(const CutlassRequest& r) {
  const Family family = r.schedule.family;
  const bool packed_tag = family == Family::nvf4 || family == Family::mxf4;
  const bool four_bits = bits(r.a) == 4 && bits(r.b) == 4;
  if (!four_bits) {
    if (packed_tag) {
      return policy_error("Incorrect Kernel Schedule Policy for Mx_F4F6F8 type inputs.", "an Mxf8f6f4 tag");
    }
    return std::nullopt;
  }
  if (family == Family::mxf8f6f4 && r.a == CutlassOperand::nvfp4) {
    return policy_error("MX_F4F6F8 only supports ue8m0 SF type", "an Nvf4 tag");
  }
  const int tag_vector = family == Family::nvf4 ? 16 : 32;
  if ((packed_tag || family == Family::mxf8f6f4) && tag_vector != scale_vector(r.a)) {
    return build_error("vector_size", "Kernel Schedule policy doesn't match the scale factor vector size.",
                       kSm1xxCommon, scale_vector(r.a) == 16 ? "an Nvf4 tag" : "an Mxf4 tag");
  }
  return std::nullopt;
}

// blockscaled::is_2sm, where it cannot tell.
Found check_automatic_scaled(const CutlassRequest& r) {
  if (!is_auto(r) || !block_scaled(r.a)) return std::nullopt;
  if (r.cluster_m == 0 && r.tile.m == 256) {
    return build_error("tile_m", "If M=256, auto policy can't create 2sm kernels. Specify a 2SM policy", kSm1xxCommon,
                       "a 2Sm tag");
  }
  if (even_static_cluster(r) && r.tile.m != 256 && r.tile.m != 128) {
    return build_error("tile_m", "Unsupported M dimension for TileShape_MNK.", kSm1xxCommon, "128 or 256 rows");
  }
  return std::nullopt;
}

Found check_tile(const CutlassRequest& r, bool two_sm) {
  const bool scaled = block_scaled(r.a);
  const int m = r.tile.m;
  const int widest = two_sm ? 256 : 128;
  const bool rows = m == widest || (!scaled && m == widest / 2);
  if (!rows) {
    return build_error("tile_m", "Invalid TileShape_M.", kCommon,
                       scaled ? fmt::format("{} rows with a {} MMA", widest, two_sm ? "2SM" : "1SM")
                              : fmt::format("{} or {} rows with a {} MMA", widest / 2, widest, two_sm ? "2SM" : "1SM"));
  }
  const int n = r.tile.n;
  const bool columns = scaled ? n == 64 || n == 128 || n == 192 || n == 256 : n % 8 == 0 && n <= 256;
  if (!columns) {
    return build_error("tile_n", "Invalid TileShape_N.", kCommon,
                       scaled ? "64, 128, 192 or 256 columns" : "a multiple of 8 up to 256 columns");
  }
  if (!scaled && two_sm && n % 16 != 0) {
    const bool fp8 = r.a == CutlassOperand::fp8;
    return build_error("tile_n",
                       fp8 ? "SM100_MMA_F8F6F4_2x1SM_SS N-mode size should be a multiple of 16 between 16 and 256 when "
                             "B is K major."
                           : "SM100_MMA_F16BF16_2x1SM_SS N-mode size should be a multiple of 16 between 16 and 256.",
                       fp8 ? "cute/atom/mma_traits_sm100.hpp" : kUmma, "a multiple of 16 columns");
  }
  return std::nullopt;
}

// K in MMAs, and then in blocks of four scale factors a row, which is how they lie in shared memory.
Found check_k(const CutlassRequest& r) {
  const int mma_k = unpacks_to_bytes(r) ? 32 : 256 / bits(r.a);
  const int block = block_scaled(r.a) ? 4 * scale_vector(r.a) : mma_k;
  const std::string remedy = fmt::format("a multiple of {} in K", block);
  if (r.tile.k % mma_k != 0) {
    return build_error("tile_k", "Static cluster shape used: TileShape should be evenly divided by TiledMma",
                       block_scaled(r.a) ? "gemm/collective/sm100_blockscaled_mma_warpspecialized.hpp"
                                         : "gemm/collective/sm100_mma_warpspecialized.hpp",
                       remedy);
  }
  if (r.tile.k < block) {
    return build_error("tile_k", "TMA requires CTA_Tile and SLayout top-level size equivalence.",
                       "cute/atom/copy_traits_sm90_tma.hpp", remedy);
  }
  if (r.tile.k % block != 0) {
    return build_error("tile_k", "Shape Divisibility Condition", "cute/int_tuple.hpp", remedy);
  }
  return std::nullopt;
}

}  // namespace

bool sm100_two_sm(const CutlassRequest& r) {
  if (!is_auto(r)) return r.schedule.warps == CutlassWarps::two_sm;
  if (!even_static_cluster(r)) return false;
  return block_scaled(r.a) ? r.tile.m == 256 : r.tile.m % 128 == 0;
}

bool unpacks_to_bytes(const CutlassRequest& r) {
  return bits(r.a) == 8 || bits(r.b) == 8 || r.schedule.family == Family::mxf8f6f4;
}

Status check_sm10x_coverage(const CutlassRequest& r) {
  if (r.fusion == CutlassFusion::scale_factor_d) {
    return not_covered(r, "the epilogue scale_factor_d", "the plain and the finalize one");
  }
  const CutlassEpilogueSchedule& epilogue = r.epilogue_schedule;
  const bool finalize = r.fusion == CutlassFusion::finalize;
  if (finalize && (!r.grouped || epilogue.warps != CutlassEpilogueWarps::tma || r.d != CutlassElement::none)) {
    return not_covered(r, "this finalize", "grouped kernels with a TMA epilogue and a void D");
  }
  if (!finalize && r.d == CutlassElement::none) return not_covered(r, "a void D", "a void D of finalize");
  const bool mixed = r.a == CutlassOperand::mxfp8 && r.b == CutlassOperand::mxfp4;
  if (r.a != r.b && !mixed) return not_covered(r, "these two operand types", "A and B of one type, and mxfp8 x mxfp4");
  if (r.schedule.ptr_array && !r.grouped) return not_covered(r, "a dense kernel with a PtrArray tag", "grouped ones");
  if (epilogue.ptr_array && !r.grouped)
    return not_covered(r, "a dense kernel with a PtrArray epilogue", "grouped ones");
  const bool named = epilogue.warps == CutlassEpilogueWarps::tma || epilogue.warps == CutlassEpilogueWarps::no_smem;
  if (epilogue.warps != CutlassEpilogueWarps::automatic && (!named || epilogue.sm == 0)) {
    return not_covered(r, "the epilogue " + tag_name(epilogue), "[PtrArray]TmaWarpSpecialized{1,2}Sm and NoSmem ones");
  }
  return {};
}

Status check_sm10x_epilogue_tile(const CutlassRequest& r, const EpilogueChoice& choice, bool no_smem) {
  if (!no_smem && (choice.tile_m > choice.cta_m || choice.tile_n > choice.cta_n)) {
    return not_covered(r, "a TMA epilogue tile beyond the CTA's", "epilogue tiles within it");
  }
  return {};
}

std::optional<CutlassBuildError> check_sm10x_epilogue_groups(const CutlassRequest& r) {
  if (!r.grouped || r.epilogue_schedule.ptr_array) return std::nullopt;
  return build_error("grouped_needs_ptr_array", "no type named 'InternalStrideC' in CollectiveEpilogue",
                     "gemm/kernel/sm100_gemm_array_tma_warpspecialized.hpp", "a PtrArray epilogue schedule");
}

std::optional<CutlassBuildError> check_sm10x_groups(const CutlassRequest& r) {
  if (!r.grouped || r.schedule.ptr_array) return std::nullopt;
  return build_error(
      "grouped_needs_ptr_array", "Expected layout args... in make_tensor(iter, args...)", "cute/tensor_impl.hpp",
      "a KernelPtrArrayTmaWarpSpecialized{1,2}Sm tag: Auto and the dense tags never make a grouped kernel");
}

std::optional<CutlassBuildError> check_sm100_mainloop(const CutlassRequest& r) {
  if (!tag_of_this_builder(r)) {
    return no_builder(block_scaled(r.a) ? "a block-scaled tag of SM100" : "a tag of SM100 without block scales");
  }
  if (block_scaled(r.a)) {
    if (auto error = check_family(r)) return error;
    if (auto error = check_automatic_scaled(r)) return error;
  }
  const bool two_sm = sm100_two_sm(r);
  if (auto error = check_tile(r, two_sm)) return error;
  if (auto error = check_k(r)) return error;
  if (two_sm && r.cluster_m % 2 == 1) {
    return build_error("cluster", "Cluster shape not divisible by MMA size", kCommon, "a cluster with an even M");
  }
  return check_sm10x_groups(r);
}

CutlassBuildError no_stage_fits(std::string file, bool block_scaled) {
  const char* const message = block_scaled
                                  ? "Smem usage is too high. Can't create any SMEM buffers for A, B, SFA, and SFB."
                                  : "Smem usage is too high. Can't create any SMEM buffers for A, and B.";
  return build_error("no_stage_fits", message, std::move(file), "a smaller tile, or a smaller epilogue");
}

void check_capacity(CutlassKernel& kernel, const std::string& file) {
  if (kernel.fits()) return;
  kernel.steps.push_back({"capacity", fmt::format("{} B of {} B", kernel.total, kernel.limit), "does not compile",
                          "the kernel asserts its size: \"SMEM usage exceeded capacity.\"", file});
  kernel.error = build_error("smem_capacity", "SMEM usage exceeded capacity.", file,
                             "fewer stages, or a carve-out of the epilogue's size");
  kernel.error->in_kernel_body = true;
}

void reserve_sm100_carveout(std::vector<CutlassStorage>& storage, std::int64_t bytes) {
  reserve_carveout(storage, {"tensors.epilogue", "tensormaps.epilogue", "tensormaps[0].epilogue", "pipelines.epi_load"},
                   bytes);
}

}  // namespace tilewright::schedule::cutlass
