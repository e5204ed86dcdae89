#include "schedule/problems.hpp"

#include <cstdlib>
#include <iostream>

namespace tilewright::schedule_tests {
namespace {

// A test that cannot set itself up is wrong, not red.
template <typename T>
T must(Result<T> result) {
  if (result) return *result;
  std::cerr << result.error().message() << "\n";
  std::abort();
}

LayerProblem layer(const char* name, int hidden, int intermediate, int experts, std::int64_t tokens,
                   Precision precision) {
  LayerProblem problem;
  problem.model.name = name;
  problem.model.hidden = hidden;
  problem.model.intermediate = intermediate;
  problem.model.experts = experts;
  problem.model.routing.top_k = 8;
  problem.tokens = tokens;
  problem.precision = precision;
  return problem;
}

}  // namespace

Device device(const std::string& name) { return must(find_device(name)); }

Device cpu() {
  CpuFacts facts;
  facts.isa = "avx512_vnni";
  facts.cores = 2;
  facts.l1_bytes = 32 << 10;
  facts.l2_bytes = 1 << 20;
  facts.read_GBps = 50;
  facts.macs_w4a4 = 600e9;
  facts.macs_w4a16 = 300e9;
  facts.walks_w4a4 = {4, 4, 8, 512};
  facts.walks_w4a16 = {4, 2, 8, 512};
  return must(cpu_device(facts));
}

LayerProblem glm5(std::int64_t tokens, int ep, Precision precision, RowDistribution rows) {
  LayerProblem problem = layer("glm-5", 6144, 2048, 256, tokens, precision);
  problem.ep = ep;
  problem.rows.distribution = rows;
  return problem;
}

LayerProblem qwen3(std::int64_t tokens, Precision precision) {
  return layer("qwen3-30b-a3b", 2048, 768, 128, tokens, precision);
}

const Candidate& chosen(const Plan& plan, std::size_t gemm) {
  const Candidate* candidate = plan.plans.at(gemm).chosen();
  if (candidate != nullptr) return *candidate;
  std::cerr << plan.plans.at(gemm).rejected.front().message << "\n";
  std::abort();
}

}  // namespace tilewright::schedule_tests
