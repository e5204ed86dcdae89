#include "schedule/layer_time.hpp"

#include <algorithm>

#include "schedule/cache_reuse.hpp"
#include "schedule/cost_constants.hpp"

namespace tilewright::schedule {
namespace {

// A step that only moves bytes, and how long they take.
LayerStep moving(const Device& device, const char* name, std::int64_t bytes, double us) {
  return {name, bytes, (device.arch == Arch::cpu ? kCpuLaunchUs : kLaunchUs) + us};
}

// bf16 tokens, that the layer before has just written, in; NVFP4 rows, that GEMM1 reads next, out.
LayerStep quantize_step(const Device& device, std::int64_t in, std::int64_t out) {
  const MemoryPath memory(device);
  const double distance = static_cast<double>(in + out);
  return moving(device, "quantize", in + out, memory.us(distance, distance));
}

// The weighted rows of each token in: GEMM2 has read all its weights since it wrote the first of them. Their sums out.
LayerStep combine_step(const Device& device, const GemmPlan& gemm2, std::int64_t in, std::int64_t out) {
  const MemoryPath memory(device);
  const double since = static_cast<double>(gemm2.floor.weight_bytes + gemm2.floor.activation_bytes);
  const double us =
      memory.us(static_cast<double>(in), since) + memory.us(static_cast<double>(out), static_cast<double>(in + out));
  return moving(device, "combine", in + out, us);
}

LayerStep gemm_step(const GemmPlan& plan) {
  const Candidate* chosen = plan.chosen();
  if (chosen == nullptr) return {to_string(plan.problem.gemm), 0, 0.0};
  return {to_string(plan.problem.gemm), chosen->cost.dram_bytes, chosen->cost.predicted_us};
}

// The floor of one fused kernel: weights once, tokens in once, the intermediate out and in, tokens out once.
double fused_floor_us(const Device& device, const LayerProblem& problem, const GemmPlan& gemm1, const GemmPlan& gemm2) {
  const std::int64_t hidden = gemm1.problem.k;
  const std::int64_t rows = gemm1.problem.rows.total();
  const std::int64_t tokens = std::min(problem.tokens, rows);
  const auto activations = [&](std::int64_t values) {
    return problem.precision == Precision::w4a4 ? values * 9 / 16 : values * 2;
  };
  const std::int64_t bytes = gemm1.floor.weight_bytes + gemm2.floor.weight_bytes + activations(tokens * hidden) +
                             2 * activations(rows * gemm2.problem.k) + 2 * tokens * hidden;
  const double dram_us = device.dram_GBps > 0 ? static_cast<double>(bytes) / (1e3 * device.dram_GBps) : 0.0;
  return std::max(dram_us, gemm1.floor.mma_us + gemm2.floor.mma_us);
}

}  // namespace

LayerTime layer_time(const Device& device, const LayerProblem& problem, const GemmPlan& gemm1, const GemmPlan& gemm2) {
  const std::int64_t hidden = gemm1.problem.k;
  const std::int64_t rows = gemm1.problem.rows.total();
  const std::int64_t tokens = std::min(problem.tokens, rows);
  LayerTime time;
  time.tokens = problem.tokens;
  // Router logits in fp32, read once; ids and weights are small beside them.
  const std::int64_t logits = problem.tokens * problem.model.experts * 4;
  time.steps.push_back(moving(device, "route", logits, static_cast<double>(logits) / (1e3 * device.dram_read_GBps)));
  if (problem.precision == Precision::w4a4) {
    time.steps.push_back(quantize_step(device, tokens * hidden * 2, weight_bytes(rows, hidden)));
  }
  time.steps.push_back(gemm_step(gemm1));
  time.steps.push_back(gemm_step(gemm2));
  time.steps.push_back(combine_step(device, gemm2, rows * hidden * 2, tokens * hidden * 2));
  time.floor_us = fused_floor_us(device, problem, gemm1, gemm2);
  if (gemm1.chosen() == nullptr || gemm2.chosen() == nullptr) return time;
  for (const LayerStep& step : time.steps) time.predicted_us += step.us;
  return time;
}

}  // namespace tilewright::schedule
