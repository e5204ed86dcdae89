#include "schedule/cutlass/sm90.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "schedule/cutlass/answer.hpp"
#include "schedule/cutlass/elements.hpp"
#include "schedule/cutlass/sm90_storage.hpp"
#include "schedule/cutlass/tags.hpp"

namespace tilewright::schedule::cutlass {
namespace {

constexpr const char* kBuilder = "gemm/collective/builders/sm90_gmma_builder.inl";
constexpr const char* kMmaSelector = "cute/arch/mma_sm90.hpp";

constexpr std::int64_t kTensorMaps = 2 * 128;     // of A and B, in a grouped kernel
constexpr std::int64_t kSchedulerPipeline = 128;  // PipelineAsyncSharedStorage<8>
constexpr std::int64_t kStageAlignment = 128;     // compute_stage_count_or_override
constexpr std::int64_t kStageBarriers = 16;

bool fast_accum(const CutlassRequest& r) { return r.schedule.family == CutlassTagFamily::fp8_fast_accum; }

std::string kernel_file(const CutlassRequest& r, CutlassWarps warps) {
  const char* const role = warps == CutlassWarps::cooperative ? "_cooperative"
                           : warps == CutlassWarps::pingpong  ? "_pingpong"
                                                              : "";
  return fmt::format("gemm/kernel/sm90_gemm_{}tma_warpspecialized{}.hpp", r.grouped ? "array_" : "", role);
}

// Of the mainloop: FP8 with slow accumulation has its own.
bool fp8_mainloop(const CutlassRequest& r) { return r.a == CutlassOperand::fp8 && !fast_accum(r); }

std::string mainloop_file(const CutlassRequest& r) {
  return fmt::format("gemm/collective/sm90_mma_{}tma_gmma_ss_warpspecialized{}.hpp", r.grouped ? "array_" : "",
                     fp8_mainloop(r) ? "_fp8" : "");
}

CutlassSchedule resolved_schedule(const CutlassRequest& r) {
  if (r.schedule.warps != CutlassWarps::automatic) return r.schedule;
  CutlassSchedule resolved;
  resolved.warps = r.tile.m == 64 ? CutlassWarps::pingpong : CutlassWarps::cooperative;
  return resolved;
}

// What none of the rows that were compiled covers.
Status check_coverage(const CutlassRequest& r) {
  const CutlassEpilogueSchedule& epilogue = r.epilogue_schedule;
  if (r.a != r.b) return not_covered(r, "operands of two types", "A and B of one type");
  if (r.fusion == CutlassFusion::scale_factor_d) {
    return not_covered(r, "the epilogue scale_factor_d", "the plain and the finalize one");
  }
  const bool finalize = r.fusion == CutlassFusion::finalize;
  const bool tma =
      epilogue.warps == CutlassEpilogueWarps::tma_cooperative || epilogue.warps == CutlassEpilogueWarps::tma_pingpong;
  if (finalize && (!r.grouped || !tma || r.d != CutlassElement::none)) {
    return not_covered(r, "this finalize", "grouped kernels with a TMA epilogue and a void D");
  }
  if (!finalize && r.d == CutlassElement::none) return not_covered(r, "a void D", "a void D of finalize");
  if (bits(r.d) == 4) return not_covered(r, "D of 4 bits", "D of 8, 16 or 32 bits");
  if (r.schedule.ptr_array && !r.grouped) return not_covered(r, "a dense kernel with a PtrArray tag", "grouped ones");
  if (epilogue.ptr_array && !r.grouped)
    return not_covered(r, "a dense kernel with a PtrArray epilogue", "grouped ones");
  if (epilogue.sm != 0) return not_covered(r, "an epilogue tag of SM100", "SM90's tags");
  if (r.tile.n > 256) return not_covered(r, "a tile of over 256 columns", "8 to 256 columns");
  if (r.tile.m > 256 || r.tile.m == 192)
    return not_covered(r, "a tile of 192 or over 256 rows", "64, 128 and 256 rows");
  return {};
}

// Types exist of any mainloop with any epilogue, but not every kernel's body compiles.
std::optional<CutlassBuildError> check_body(const CutlassRequest& r, CutlassWarps warps, const Sm90Epilogue& epilogue) {
  std::optional<CutlassBuildError> error;
  if (warps == CutlassWarps::cooperative && r.tile.m < 128) {
    error = build_error(
        "tile_m", "Cooperative kernel requires Tile Size to be greater than or equal to 128 along the M-dimension.",
        kernel_file(r, warps), "Pingpong, or a tile of 128 rows");
  } else if (r.grouped && epilogue.warps == CutlassEpilogueWarps::tma) {
    error = build_error("epilogue_warps", "Tiled MmA does not match expected warp groups performing the epilogue",
                        kernel_file(r, warps), "PtrArrayTmaWarpSpecializedCooperative or ...Pingpong, as the mainloop");
  } else if (warps == CutlassWarps::cooperative && !epilogue.no_smem() &&
             epilogue.warps != CutlassEpilogueWarps::tma_cooperative) {
    error = build_error("epilogue_warps", "MMA_TILE_M must divide EPI_TILE_M",
                        r.grouped ? "epilogue/collective/sm90_epilogue_array_tma_warpspecialized.hpp"
                                  : "epilogue/collective/sm90_epilogue_tma_warpspecialized.hpp",
                        "a cooperative epilogue schedule, whose tiles have 128 rows");
  }
  if (error) error->in_kernel_body = true;
  return error;
}

// The kernel that a PtrArray tag does not ask for takes no groups, whatever the layouts are.
std::optional<CutlassBuildError> check_groups(const CutlassRequest& r, CutlassWarps warps) {
  if (!r.grouped || r.schedule.ptr_array) return std::nullopt;
  CutlassRequest dense = r;
  dense.grouped = false;
  return build_error("grouped_needs_ptr_array", "ProblemShape{} should be <M,N,K> or <M,N,K,L>",
                     kernel_file(dense, warps),
                     "KernelPtrArrayTmaWarpSpecializedCooperative or ...Pingpong: Auto and the dense tags never make a "
                     "grouped kernel");
}

std::optional<CutlassBuildError> check_epilogue_layout(const CutlassRequest& r) {
  if (!r.grouped || r.epilogue_schedule.ptr_array) return std::nullopt;
  const bool no_smem = r.epilogue_schedule.warps == CutlassEpilogueWarps::automatic ||
                       r.epilogue_schedule.warps == CutlassEpilogueWarps::no_smem;
  return build_error("grouped_needs_ptr_array",
                     no_smem ? "StrideCD must be rank-3: [M, N, L]" : "StrideC must be rank-3: [M, N, L]",
                     no_smem ? "epilogue/collective/default_epilogue.hpp"
                             : "epilogue/collective/sm90_epilogue_tma_warpspecialized.hpp",
                     "a PtrArray epilogue schedule");
}

std::optional<CutlassBuildError> check_mainloop(const CutlassRequest& r) {
  const bool sm90_tag =
      !r.schedule.tag_arch && r.schedule.warps != CutlassWarps::one_sm && r.schedule.warps != CutlassWarps::two_sm;
  if (block_scaled(r.a)) return no_builder("SM90 has no block-scaled MMA: bf16, fp16 or fp8 operands");
  if (!sm90_tag) return no_builder("a tag of SM90's");
  if (r.cluster_m == 0) {
    return build_error("cluster", "is_static<ClusterShape_MNK>::value", kBuilder, "a static cluster");
  }
  if (fast_accum(r) && r.a != CutlassOperand::fp8) {
    return build_error("tag_family", "Only FP8 datatypes are compatible with these kernel schedules", kBuilder,
                       "a tag without FP8FastAccum");
  }
  if (r.tile.m % 64 != 0) {
    return build_error("tile_m", "Tile_M must be a multiple of 64.", kMmaSelector, "a tile of 64, 128 or 256 rows");
  }
  const int mma_k = 256 / bits(r.a);
  if (r.tile.k % mma_k != 0) {
    return build_error("tile_k", fmt::format("Tile_K must be a multiple of {}.", mma_k), kMmaSelector,
                       fmt::format("a multiple of {} in K", mma_k));
  }
  if (r.tile.n % 8 != 0) {
    return build_error("tile_n", "Tile_N must be a multiple of 8.", kMmaSelector, "a multiple of 8 columns");
  }
  return std::nullopt;
}

void note_schedule(CutlassKernel& kernel, const CutlassSchedule& resolved) {
  const CutlassRequest& r = kernel.request;
  kernel.warps = resolved.warps;
  kernel.schedule = tag_name(resolved);
  const bool automatic = r.schedule.warps == CutlassWarps::automatic;
  kernel.steps.push_back(
      {"mainloop schedule", tag_name(r.schedule), kernel.schedule,
       automatic ? "Pingpong for a tile of 64 rows, Cooperative for others (nvcc 12.1 or newer)" : "the tag says so",
       kBuilder});
  kernel.steps.push_back({"mainloop", to_string(r.a), fp8_mainloop(r) ? "FP8, accumulating in two levels" : "plain",
                          "FP8 operands without an FP8FastAccum tag have their own", kBuilder});
}

// Bytes that the builder keeps for the kernel, off the capacity.
std::int64_t kernel_carveout(const CutlassRequest& r) { return r.grouped ? kTensorMaps + kSchedulerPipeline : 0; }

struct StageBudget {
  std::int64_t a = 0;
  std::int64_t b = 0;
  std::int64_t carveout = 0;

  [[nodiscard]] std::int64_t stage() const { return align_up(a + b, kStageAlignment) + kStageBarriers; }
};

void choose_stages(CutlassKernel& kernel, const StageBudget& budget) {
  const CutlassRequest& r = kernel.request;
  if (r.stages.rule == CutlassStageRule::explicit_count) {
    kernel.stages = r.stages.count;
    kernel.steps.push_back({"stages", fmt::format("StageCount<{}>", r.stages.count), std::to_string(r.stages.count),
                            "the request says so", kBuilder});
    return;
  }
  const std::int64_t capacity = (kernel.limit - kernel_carveout(r)) / kStageAlignment * kStageAlignment;
  const std::int64_t carved = align_up(budget.carveout, kStageAlignment);
  kernel.stages = static_cast<int>((capacity - carved) / budget.stage());
  kernel.steps.push_back({"stages", fmt::format("StageCountAutoCarveout<{}>", budget.carveout),
                          std::to_string(kernel.stages),
                          fmt::format("({} - {} for the kernel, down to {} - {} carved out) / {} a stage", kernel.limit,
                                      kernel_carveout(r), capacity, carved, budget.stage()),
                          kBuilder});
}

void reserve_parts(CutlassKernel& kernel, const StageBudget& budget) {
  std::vector<CutlassStorage>& storage = kernel.storage;
  reserve(storage, "tensors.mainloop.smem_A", budget.a * kernel.stages);
  reserve(storage, "tensors.mainloop.smem_B", budget.b * kernel.stages);
  reserve(storage, "pipelines.mainloop", kStageBarriers * kernel.stages);
  if (kernel.request.grouped) {
    reserve(storage, "tensormaps.mainloop", kTensorMaps);
    reserve(storage, "pipelines.scheduler", kSchedulerPipeline);
  }
  reserve_carveout(storage, {"tensors.epilogue", "tensormaps.epilogue", "pipelines.epi_load"},
                   align_up(budget.carveout, kStageAlignment));
  kernel.reserved_bytes = reserved_bytes(storage);
}

std::string policy_name(const CutlassRequest& r, const CutlassKernel& kernel) {
  return fmt::format("MainloopSm90{}TmaGmmaWarpSpecialized{}<{},{},{}>", r.grouped ? "Array" : "",
                     fp8_mainloop(r) ? "FP8" : "", kernel.stages, cluster_tuple(r), kernel.schedule);
}

void fill(CutlassKernel& kernel, const Sm90Epilogue& epilogue) {
  const CutlassRequest& r = kernel.request;
  StageBudget budget;
  budget.a = bytes_of(static_cast<std::int64_t>(r.tile.m) * r.tile.k, bits(r.a));
  budget.b = bytes_of(static_cast<std::int64_t>(r.tile.n) * r.tile.k, bits(r.b));
  if (r.stages.rule == CutlassStageRule::carveout) {
    budget.carveout = r.stages.carveout_bytes.value_or(epilogue.epilogue.storage_bytes);
  }
  choose_stages(kernel, budget);
  kernel.policy = policy_name(r, kernel);
  if (kernel.stages < 2) {
    kernel.error = stages_below_2(mainloop_file(r), "a smaller tile, or a smaller epilogue");
    if (fp8_mainloop(r) && !r.grouped) kernel.error->message = "Specialization requires Stages set to value 1 or more.";
    return;
  }
  Sm90Mainloop mainloop;
  mainloop.warps = kernel.warps;
  mainloop.stages = kernel.stages;
  mainloop.tensors.aligned(128);
  mainloop.tensors.member("smem_A", budget.a * kernel.stages, 16).member("smem_B", budget.b * kernel.stages, 16);
  kernel.mainloop_bytes = mainloop.tensors.size();
  kernel.epilogue_bytes = epilogue.epilogue.tensors.size();
  kernel.storage = sm90_storage(r, mainloop, epilogue);
  kernel.total = kernel.storage.back().offset + kernel.storage.back().bytes;
  if (r.stages.rule != CutlassStageRule::explicit_count) reserve_parts(kernel, budget);
  kernel.error = check_body(r, kernel.warps, epilogue);
}

}  // namespace

Result<CutlassKernel> resolve_sm90(const CutlassRequest& request) {
  TILEWRIGHT_TRY(check_coverage(request));
  CutlassKernel kernel = start(request);
  kernel.error = check_epilogue_layout(request);
  if (kernel.error) return kernel;
  const Sm90Epilogue epilogue = choose_sm90_epilogue(kernel);
  if (!kernel.error) kernel.error = check_mainloop(request);
  if (kernel.error) return kernel;
  const CutlassSchedule resolved = resolved_schedule(request);
  note_schedule(kernel, resolved);
  kernel.error = check_groups(request, resolved.warps);
  if (kernel.error) return kernel;
  fill(kernel, epilogue);
  return kernel;
}

}  // namespace tilewright::schedule::cutlass
