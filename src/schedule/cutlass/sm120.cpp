// resolve_sm120: the chain from the epilogue's type to the kernel's bytes, in the order in which the templates are
// instantiated: the stage count needs the epilogue's size, and the kernel needs both collectives.
#include "schedule/cutlass/sm120.hpp"

#include <fmt/format.h>

#include "schedule/cutlass/answer.hpp"
#include "schedule/cutlass/elements.hpp"
#include "schedule/cutlass/sm120_builder.hpp"
#include "schedule/cutlass/tags.hpp"

namespace tilewright::schedule::cutlass {
namespace {

constexpr const char* kStageCount = "gemm/collective/builders/sm100_blockscaled_umma_builder.inl";
constexpr const char* kPlainStageCount = "gemm/collective/builders/sm100_umma_builder.inl";

std::string stages_error_file(const CutlassRequest& request) {
  return fmt::format("gemm/collective/sm120_{}mma_{}tma.hpp", block_scaled(request.a) ? "blockscaled_" : "",
                     request.grouped ? "array_" : "");
}

std::string kernel_file(const CutlassRequest& request) {
  return fmt::format("gemm/kernel/sm90_gemm_{}tma_warpspecialized_{}.hpp", request.grouped ? "array_" : "",
                     sm120_cooperative(request) ? "cooperative" : "pingpong");
}

// "KernelPtrArrayTmaWarpSpecializedCooperativeBlockScaledSm120<3>".
void resolve_schedule(CutlassKernel& kernel, const Sm120Mainloop& mainloop) {
  const CutlassRequest& request = kernel.request;
  const bool cooperative = sm120_cooperative(request);
  kernel.warps = cooperative ? CutlassWarps::cooperative : CutlassWarps::pingpong;
  kernel.schedule = fmt::format("Kernel{}TmaWarpSpecialized{}{}Sm120<{}>", request.grouped ? "PtrArray" : "",
                                cooperative ? "Cooperative" : "Pingpong", block_scaled(request.a) ? "BlockScaled" : "",
                                mainloop.scheduler_stages);
  const char* rule = "the tag says Pingpong";
  if (request.schedule.warps == CutlassWarps::automatic) {
    rule = "Auto is Cooperative whatever the tile: every tag that is not Pingpong is";
  } else if (cooperative) {
    rule = "every tag that is not Pingpong is Cooperative; Auto would be the same";
  }
  kernel.steps.push_back(
      {"mainloop schedule", tag_name(request.schedule), kernel.schedule, rule, sm120_mainloop_builder(request)});
  const bool tag_decides = !block_scaled(request.a);
  kernel.steps.push_back({"grouped or dense", request.grouped ? "pointer layouts" : "plain layouts",
                          request.grouped ? "the array mainloop" : "the mainloop of one problem",
                          tag_decides ? "the builder that takes the tag: PtrArray tags have their own"
                                      : "deduced from the layouts, never from the tag",
                          sm120_mainloop_builder(request)});
}

std::int64_t carveout_of(const CutlassRequest& request, const Epilogue& epilogue) {
  if (request.stages.rule == CutlassStageRule::automatic) return 0;
  return request.stages.carveout_bytes.value_or(epilogue.storage_bytes);
}

void resolve_stages(CutlassKernel& kernel, const Sm120Mainloop& mainloop, std::int64_t carveout) {
  const CutlassRequest& request = kernel.request;
  const char* const file = block_scaled(request.a) ? kStageCount : kPlainStageCount;
  if (request.stages.rule == CutlassStageRule::explicit_count) {
    kernel.stages = request.stages.count;
    kernel.steps.push_back({"stages", fmt::format("StageCount<{}>", kernel.stages), std::to_string(kernel.stages),
                            "taken as it is: nothing is counted or reserved", file});
    return;
  }
  if (request.stages.rule == CutlassStageRule::carveout) {
    const bool given = request.stages.carveout_bytes.has_value();
    kernel.steps.push_back({"carve-out", given ? std::to_string(carveout) : "sizeof(CollectiveEpilogue::SharedStorage)",
                            fmt::format("{} B", carveout),
                            given ? "the request says so" : "tensors, descriptors and load pipeline of the epilogue",
                            "gemm/collective/collective_builder_decl.hpp"});
  }
  const std::int64_t room = kernel.limit - mainloop.reserve() - carveout;
  kernel.stages = room < 0 ? 0 : static_cast<int>(room / mainloop.stage());
  const bool automatic = request.stages.rule == CutlassStageRule::automatic;
  kernel.steps.push_back(
      {"stages", automatic ? "StageCountAuto" : fmt::format("StageCountAutoCarveout<{}>", carveout),
       std::to_string(kernel.stages),
       fmt::format("floor(({} - {} - {}) / {}): the capacity, what is reserved for the kernel, the carve-out; a stage "
                   "is A {} + B {} + SFA {} + SFB {} + barriers {}",
                   kernel.limit, mainloop.reserve(), carveout, mainloop.stage(), mainloop.a, mainloop.b, mainloop.sfa,
                   mainloop.sfb, mainloop.barriers),
       file});
}

void resolve_policy(CutlassKernel& kernel, const Sm120Mainloop& mainloop) {
  const CutlassRequest& request = kernel.request;
  kernel.policy = fmt::format("MainloopSm120{}TmaWarpSpecialized{}<{},{},{},{}>", request.grouped ? "Array" : "",
                              block_scaled(request.a) ? "BlockScaled" : "", kernel.stages, mainloop.scheduler_stages,
                              cluster_tuple(request), kernel.schedule);
  kernel.steps.push_back({"dispatch policy", kernel.schedule, kernel.policy,
                          "stages, scheduler stages, cluster and schedule in one type", "gemm/dispatch_policy.hpp"});
}

void add_kernel_steps(CutlassKernel& kernel) {
  const CutlassRequest& request = kernel.request;
  kernel.steps.push_back({"kernel", "GemmUniversal", kernel_file(request),
                          "SM120 uses SM90's kernels, which do not assert that SharedStorage fits",
                          kernel_file(request)});
  kernel.steps.push_back({"tile scheduler", "void",
                          request.grouped ? "PersistentTileSchedulerSm90Group<..., 8>" : "PersistentTileSchedulerSm100",
                          request.grouped ? "grouped kernels on SM120 take SM90's, 8 responses deep"
                                          : "dense kernels take cluster launch control",
                          "gemm/kernel/tile_scheduler.hpp"});
}

std::string stages_remedy(const CutlassRequest& request) {
  return request.stages.rule == CutlassStageRule::explicit_count ? "StageCount<2> or more"
                                                                 : "a smaller tile N or K: two stages do not fit";
}

}  // namespace

Result<CutlassKernel> resolve_sm120(const CutlassRequest& request) {
  TILEWRIGHT_TRY(sm120_operands_covered(request));
  CutlassKernel kernel = start(request);
  if (request.arch == Arch::sm_121) {
    kernel.steps.push_back(
        {"architecture", "sm_121", "arch::Sm120", "CUTLASS has no arch::Sm121: SM121 takes SM120's", "arch/arch.h"});
  }
  if (auto error = sm120_no_builder(request)) return stopped(std::move(kernel), std::move(*error));
  const auto epilogue = sm120_epilogue(kernel);
  if (!epilogue) return kernel;
  if (auto error = sm120_mainloop_error(request)) return stopped(std::move(kernel), std::move(*error));

  const Sm120Mainloop mainloop = sm120_mainloop(request);
  const std::int64_t carveout = carveout_of(request, *epilogue);
  resolve_schedule(kernel, mainloop);
  resolve_stages(kernel, mainloop, carveout);
  if (kernel.stages < 2) {
    return stopped(std::move(kernel), stages_below_2(stages_error_file(request), stages_remedy(request)));
  }
  TILEWRIGHT_TRY(sm120_tile_covered(request));
  kernel.error = sm120_kernel_error(request);
  if (kernel.error && !kernel.error->in_kernel_body) return kernel;
  resolve_policy(kernel, mainloop);
  add_kernel_steps(kernel);
  sm120_storage(kernel, mainloop, *epilogue, carveout);
  return kernel;
}

}  // namespace tilewright::schedule::cutlass
