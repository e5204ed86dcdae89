#include "cuda/moe/layer_schedules.hpp"

#include <algorithm>

#include "tilewright/device.hpp"
#include "tilewright/planner.hpp"
#include "tilewright/problem.hpp"

namespace tilewright::cuda {
namespace {

// Rungs lie where a schedule can change: every count while tiles are few, then steps of a quarter to a half.
constexpr int kRungs[] = {1,   2,   3,   4,   6,   8,   12,  16,  24,  32,   48,   64,   80,   96,   112,  128,
                          160, 192, 224, 256, 320, 384, 448, 512, 768, 1024, 1536, 2048, 3072, 4096, 8192, 16384};

Result<Candidate> plan_one(const Device& device, const GemmProblem& problem) {
  TILEWRIGHT_ASSIGN(const Plan plan, tilewright::plan(device, problem));
  const GemmPlan& gemm = plan.plans.front();
  if (gemm.chosen() != nullptr) return *gemm.chosen();
  const std::string why = gemm.rejected.empty() ? "no schedule runs it" : gemm.rejected.front().message;
  return fail(ErrorCode::unsupported, why, "run on the CPU backend");
}

/// This GPU for the planner: one that it knows by name, or what it assumes of the architecture.
Result<Device> planned_device(const GpuInfo& gpu, Arch arch) {
  const bool known = arch == Arch::sm_90 && gpu.name.find("H200") != std::string::npos;
  Result<Device> device = known ? find_device("h200") : default_device(arch);
  if (device) device->sm_count = gpu.sm_count;
  return device;
}

Epilogue first_ending(const LayerShape& shape, const KernelSet& kernels) {
  if (kernels.precision == Precision::w4a4 && !kernels.requantizes_rows) {
    return shape.gated ? Epilogue::gated_nvfp4 : Epilogue::act_nvfp4;
  }
  return shape.gated ? Epilogue::gated_bf16 : Epilogue::act_bf16;
}

}  // namespace

Result<LayerPlan> plan_layer(const GpuInfo& gpu, const LayerShape& shape, int tokens, const KernelSet& kernels) {
  TILEWRIGHT_ASSIGN(const Device device, planned_device(gpu, kernels.arch));
  GemmProblem gemm1;
  gemm1.gemm = GemmId::gemm1;
  gemm1.n = shape.gated ? 2 * shape.intermediate : shape.intermediate;
  gemm1.k = shape.hidden;
  TILEWRIGHT_ASSIGN(gemm1.rows, expected_rows(tokens, shape.top_k, shape.global_experts, shape.experts));
  gemm1.tokens = tokens;
  gemm1.precision = kernels.precision;
  gemm1.epilogue = first_ending(shape, kernels);
  GemmProblem gemm2 = gemm1;
  gemm2.gemm = GemmId::gemm2;
  gemm2.n = shape.hidden;
  gemm2.k = shape.intermediate;
  gemm2.epilogue = Epilogue::finalize;
  LayerPlan plan;
  TILEWRIGHT_ASSIGN(plan.gemm1, plan_one(device, gemm1));
  TILEWRIGHT_ASSIGN(plan.gemm2, plan_one(device, gemm2));
  return plan;
}

Result<ScheduleLadder> ScheduleLadder::plan(const GpuInfo& gpu, const LayerShape& shape, const KernelSet& kernels) {
  ScheduleLadder ladder;
  for (const int tokens : kRungs) {
    TILEWRIGHT_ASSIGN(const LayerPlan plan, plan_layer(gpu, shape, tokens, kernels));
    ladder.rungs_.push_back({tokens, {plan.gemm1.schedule, plan.gemm2.schedule}});
  }
  return ladder;
}

LayerSchedules ScheduleLadder::at(int tokens) const {
  const auto found =
      std::find_if(rungs_.begin(), rungs_.end(), [&](const Rung& rung) { return rung.tokens >= tokens; });
  return found == rungs_.end() ? rungs_.back().schedules : found->schedules;
}

}  // namespace tilewright::cuda
