// The SM120 mainloop builders: what they take, what they assert, what they count.
#include "schedule/cutlass/sm120_builder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/cutlass/answer.hpp"
#include "schedule/cutlass/elements.hpp"
#include "schedule/cutlass/tags.hpp"

namespace tilewright::schedule::cutlass {
namespace {

constexpr const char* kCommon = "gemm/collective/builders/sm120_common.inl";
constexpr const char* kInputTypes = "gemm/collective/builders/sm1xx_common.inl";

bool four_bits(const CutlassRequest& request) { return bits(request.a) == 4 && bits(request.b) == 4; }

bool warp_groups(const CutlassSchedule& schedule) {
  return schedule.warps == CutlassWarps::cooperative || schedule.warps == CutlassWarps::pingpong;
}

bool of_sm120(const CutlassSchedule& schedule) {
  return !schedule.tag_arch || kernel_arch(*schedule.tag_arch) == Arch::sm_120;
}

bool epilogue_taken(const CutlassEpilogueSchedule& schedule) {
  switch (schedule.warps) {
    case CutlassEpilogueWarps::automatic: return true;
    case CutlassEpilogueWarps::tma: return !schedule.ptr_array && schedule.sm == 0;
    case CutlassEpilogueWarps::tma_cooperative: return true;
    case CutlassEpilogueWarps::tma_pingpong: return schedule.ptr_array;
    case CutlassEpilogueWarps::no_smem: return false;
  }
  return false;
}

// FP4 beside FP4 stays packed; beside 8 bits, every element takes a byte (UseMxf8f6f4).
int smem_bits(const CutlassRequest& request) { return four_bits(request) ? 4 : 8; }

// Before 4.5 a tile of fewer than 128 columns left the scale layout of B without columns; rows of A still do. A K of
// fewer than four scales, which builds before 4.5 alone, leaves both layouts empty.
std::int64_t scales(int extent, int k, int vector, bool padded) {
  const std::int64_t rows = padded ? std::max(extent, 128) : extent / 128 * 128;
  return k < 4 * vector ? 0 : rows * k / vector;
}

std::optional<CutlassBuildError> tile_error(const CutlassRequest& request) {
  const int n = request.tile.n;
  const int least_n = request.version >= CutlassVersion::v4_7_0 ? 8 : 32;
  if (n < least_n) {
    return build_error("tile_n", "Invalid tile shape N.", kSm120BlockScaledBuilder,
                       fmt::format("a tile N of {} or more", least_n));
  }
  if (n < 32 && n != 8 && n != 16) {
    return build_error("tile_n", "TileShape_N must be at least 8 for SM120 blockscaled.", kCommon,
                       "a tile N of 8, 16 or 32");
  }
  const int vector = scale_vector(request.a);
  const bool below_one = request.tile.k < 4 * vector;  // shape_div of two integers that do not divide is a bool
  const bool in_types = request.version >= CutlassVersion::v4_5_0 || !below_one;
  if (request.tile.k % (4 * vector) != 0 && in_types) {
    return build_error(
        "tile_k", below_one ? "‘value’ is not a member of ‘bool’" : "Shape Divisibility Condition", "cute/config.hpp",
        fmt::format("a tile K that is a multiple of {}: four scales of {} elements", 4 * vector, vector));
  }
  if (n > 128 && n % 128 != 0) {
    return build_error("tile_n", "Shape Divisibility Condition", "cute/config.hpp",
                       "a tile N of 128 or less, or a multiple of 128: scales come in blocks of 128 columns");
  }
  return std::nullopt;
}

// The family that a SM120 tag may name for the operands.
CutlassTagFamily family_of(const CutlassRequest& request) {
  if (!four_bits(request)) return CutlassTagFamily::mxf8f6f4;
  return request.a == CutlassOperand::nvfp4 ? CutlassTagFamily::nvf4 : CutlassTagFamily::mxf4;
}

// check_input_datatypes: a tag is Auto, a plain Cooperative or Pingpong one, or names the operands' instruction.
std::optional<CutlassBuildError> tag_error(const CutlassRequest& request) {
  const CutlassSchedule& schedule = request.schedule;
  const bool plain = schedule.family == CutlassTagFamily::none && !schedule.scheduler_stages;
  if (plain || schedule.family == family_of(request)) return std::nullopt;
  const bool other_fp4 =
      four_bits(request) && (schedule.family == CutlassTagFamily::nvf4 || schedule.family == CutlassTagFamily::mxf4);
  const char* message = "Incorrect Kernel Schedule Policy for Mx_F4F6F8 type inputs.";
  if (other_fp4) {
    message = "Kernel Schedule policy doesn't match the scale factor vector size.";
  } else if (four_bits(request)) {
    message = "Incorrect Kernel Schedule Policy for F4 type inputs.";
  }
  CutlassSchedule named = schedule;
  named.family = family_of(request);
  named.ptr_array = false;
  named.tag_arch = Arch::sm_120;
  named.scheduler_stages = std::nullopt;
  return build_error("schedule_tag", message, kInputTypes,
                     request.grouped ? "KernelScheduleAuto, or a plain KernelPtrArray tag" : tag_name(named));
}

std::optional<CutlassBuildError> block_scaled_error(const CutlassRequest& request) {
  if (scale_vector(request.a) != scale_vector(request.b)) {
    return build_error("operand_types", "Scale factor types for A and B must be the same.", kSm120BlockScaledBuilder,
                       "operands with one kind of scale: nvfp4 with nvfp4, mxfp8 with mxfp4");
  }
  if (auto error = tag_error(request)) return error;
  if (request.cluster_m * request.cluster_n != 1) {
    return build_error("cluster", "no programmatic multicast on this arch", kSm120BlockScaledBuilder,
                       "a cluster of 1x1");
  }
  if (auto error = tile_error(request)) return error;
  const CutlassSchedule& schedule = request.schedule;
  if (request.grouped && !schedule.ptr_array && schedule.warps != CutlassWarps::automatic) {
    return build_error("schedule_tag", "Invalid builder schedule tag for grouped GEMM", kSm120BlockScaledBuilder,
                       "KernelScheduleAuto or a KernelPtrArray tag");
  }
  return std::nullopt;
}

std::optional<CutlassBuildError> f8f6f4_error(const CutlassRequest& request) {
  const char* const builder = sm120_mainloop_builder(request);
  const bool array = sm120_array_mainloop(request);
  if (bits(request.a) > 8 || bits(request.b) > 8) {
    return build_error("operand_types",
                       array ? "SM120 array TmaWarpSpecialized builder currently only supports F8F6F4 MMA."
                             : "SM120 TmaWarpSpecialized builder currently only supports F8F6F4 MMA.",
                       builder, "fp8 or block-scaled operands; 16-bit ones have no TMA builder on SM120");
  }
  if (request.cluster_m * request.cluster_n != 1) {
    return build_error("cluster", "no programmatic multicast on this arch", builder, "a cluster of 1x1");
  }
  if (request.schedule.ptr_array && !array) {
    return build_error("schedule_tag", "PtrArray kernel is not supported for this collective builder.", builder,
                       "CUTLASS 4.7, or block-scaled operands");
  }
  if (array && !request.schedule.scheduler_stages) {
    return build_error(
        "schedule_tag",
        fmt::format("‘SchedulerPipelineStageCount’ is not a member of ‘cutlass::gemm::{}’", tag_name(request.schedule)),
        builder, "KernelPtrArrayTmaWarpSpecializedCooperativeSm120<2>");
  }
  return std::nullopt;
}

}  // namespace

bool sm120_array_mainloop(const CutlassRequest& request) {
  return !block_scaled(request.a) && request.schedule.ptr_array && request.version >= CutlassVersion::v4_7_0;
}

const char* sm120_mainloop_builder(const CutlassRequest& request) {
  if (block_scaled(request.a)) return kSm120BlockScaledBuilder;
  return sm120_array_mainloop(request) ? "gemm/collective/builders/sm120_array_mma_builder.inl"
                                       : "gemm/collective/builders/sm120_mma_builder.inl";
}

Sm120Mainloop sm120_mainloop(const CutlassRequest& request) {
  const CutlassTile& tile = request.tile;
  Sm120Mainloop mainloop;
  mainloop.a = bytes_of(static_cast<std::int64_t>(tile.m) * tile.k, smem_bits(request));
  mainloop.b = bytes_of(static_cast<std::int64_t>(tile.n) * tile.k, smem_bits(request));
  mainloop.barriers = 16;  // sizeof(PipelineTmaUmmaAsync<1>::SharedStorage)
  if (!block_scaled(request.a)) {
    mainloop.scheduler_stages = request.schedule.scheduler_stages.value_or(2);
    return mainloop;
  }
  const int vector = scale_vector(request.a);
  mainloop.sfa = scales(tile.m, tile.k, vector, false);
  mainloop.sfb = scales(tile.n, tile.k, vector, request.version >= CutlassVersion::v4_5_0);
  mainloop.scheduler_stages = 3;
  if (request.version >= CutlassVersion::v4_4_1) mainloop.barriers = 128;  // rounded up to 128 since
  if (request.version < CutlassVersion::v4_4_2) return mainloop;           // nothing was reserved before
  if (request.grouped) {
    mainloop.scheduler = 128;       // PipelineAsyncSharedStorage<8>
    mainloop.tensormaps = 256;      // "We have two tensormaps smem"; there are four
    mainloop.tensormap_ready = 48;  // PipelineAsync<3>, which this kernel does not have
  } else {
    mainloop.scheduler = 48;  // PipelineCLCFetchAsync<3>; its throttle pipeline is not counted
    mainloop.responses = 48;
  }
  return mainloop;
}

std::optional<CutlassBuildError> sm120_no_builder(const CutlassRequest& request) {
  if (!epilogue_taken(request.epilogue_schedule)) {
    return build_error("no_builder", "Could not build a collective epilogue for given parameters.",
                       "epilogue/collective/collective_builder.hpp",
                       "EpilogueScheduleAuto or TmaWarpSpecialized; SM120 has no epilogue without shared memory");
  }
  const CutlassSchedule& schedule = request.schedule;
  if (schedule.warps == CutlassWarps::automatic) return std::nullopt;
  const bool taken = warp_groups(schedule) && of_sm120(schedule);
  if (!taken) {
    return no_builder("KernelScheduleAuto, or a Cooperative or Pingpong tag without an architecture or of Sm120");
  }
  // Unpacked FP4 is loaded 128 elements at a time; with packed FP4's 32 the specialisation is not taken.
  if (four_bits(request) && schedule.family == CutlassTagFamily::mxf8f6f4) {
    return no_builder("the Nvf4 or Mxf4 tag of the operands, or KernelScheduleAuto");
  }
  const bool small_pingpong = block_scaled(request.a) && schedule.warps == CutlassWarps::pingpong &&
                              request.tile.n < 16 && request.version >= CutlassVersion::v4_7_0;
  if (small_pingpong) return no_builder("a cooperative schedule, or a tile N of 16 or more for Pingpong");
  return std::nullopt;
}

std::optional<CutlassBuildError> sm120_mainloop_error(const CutlassRequest& request) {
  return block_scaled(request.a) ? block_scaled_error(request) : f8f6f4_error(request);
}

}  // namespace tilewright::schedule::cutlass
