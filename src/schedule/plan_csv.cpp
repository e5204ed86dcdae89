// Plan -> CSV. No field holds a comma, a quote or a line break: all are numbers and names of the program's own.
#include <fmt/format.h>

#include <iterator>

#include "tilewright/plan_render.hpp"

namespace tilewright {
namespace {

using Out = std::back_insert_iterator<std::string>;

constexpr const char* kHeader =
    "device,arch,gemm,tokens,rows_per_expert,active_experts,n,k,precision,weight_bytes,floor_us,rank,code,tile_m,tile_"
    "n,"
    "tile_k,stages,consumers,split,split_parts,ctas_per_sm,token_load,epilogue,smem_bytes,smem_limit,predicted_us,"
    "bound,dram_us,"
    "mma_us,"
    "decode_us,smem_us,l2_us,latency_us,launch_us,sm_us,waves,token_fill,tuned_us\n";

void add_problem(std::string& text, const Device& device, const GemmPlan& plan) {
  const GemmProblem& problem = plan.problem;
  fmt::format_to(Out(text), "{},{},{},{},{:.4f},{},{},{},{},{},{:.3f},", device.name, to_string(device.arch),
                 to_string(problem.gemm), problem.tokens, problem.rows.mean_active(), problem.rows.active(), problem.n,
                 problem.k, to_string(problem.precision), plan.floor.weight_bytes, plan.floor.us());
}

void add_candidate(std::string& text, const Device& device, const Candidate& candidate, std::size_t rank) {
  const Schedule& s = candidate.schedule;
  const Cost& cost = candidate.cost;
  fmt::format_to(Out(text), "{},ok,{},{},{},{},{},{},{},{},{},{},{},{},", rank, s.tile_m, s.tile_n, s.tile_k, s.stages,
                 to_string(s.roles.consumers), to_string(s.split.kind), s.split.parts, s.ctas_per_sm,
                 to_string(s.token_load), to_string(s.epilogue), shared_memory(s).total, device.smem_per_block);
  fmt::format_to(Out(text), "{:.3f},{},{:.3f},{:.3f},{:.3f},{:.3f},{:.3f},{:.3f},{:.3f},{:.3f},{:.3f},{:.4f},",
                 cost.predicted_us, to_string(cost.bound), cost.dram_us, cost.mma_us, cost.decode_us, cost.smem_us,
                 cost.l2_us, cost.latency_us, cost.launch_us, cost.sm_us, cost.waves, cost.token_fill);
}

}  // namespace

std::string render_plan_csv(const Plan& plan, const RenderOptions& options) {
  std::string text = kHeader;
  for (const GemmPlan& gemm : plan.plans) {
    const std::size_t lines = options.all ? gemm.ranked.size() : std::min<std::size_t>(gemm.ranked.size(), 1);
    for (std::size_t i = 0; i < lines; ++i) {
      add_problem(text, plan.device, gemm);
      add_candidate(text, plan.device, gemm.ranked[i], i + 1);
      // Of the choice, where it was measured: 0 where it was pinned and not.
      if (i == 0 && gemm.tuned) fmt::format_to(Out(text), "{:.3f}", gemm.tuned->us);
      text += '\n';
    }
    if (!gemm.ranked.empty()) continue;
    // Nothing can run: the reason, and as many empty fields as a candidate has after it.
    add_problem(text, plan.device, gemm);
    const char* code = gemm.rejected.empty() ? "none" : to_string(gemm.rejected.front().code);
    fmt::format_to(Out(text), ",{},,,,,,,,,,,,,,,,,,,,,,,,,\n", code);
  }
  return text;
}

}  // namespace tilewright
