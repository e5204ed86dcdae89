// Plans one expert layer for a device and prints what was chosen.
//
//   plan_layer DEVICE MODEL TOKENS        e.g. plan_layer h200 qwen3-30b-a3b 64
#include <cstdio>
#include <cstdlib>

#include "tilewright/model.hpp"
#include "tilewright/planner.hpp"

namespace {

tilewright::Result<tilewright::Plan> plan_layer(const std::string& device_name, const std::string& model_name,
                                                int tokens) {
  TILEWRIGHT_ASSIGN(const tilewright::Device device, tilewright::find_device(device_name));
  tilewright::LayerProblem problem;
  TILEWRIGHT_ASSIGN(problem.model, tilewright::find_model(model_name));
  problem.tokens = tokens;
  problem.precision = tilewright::default_precision(device.arch);
  return tilewright::plan(device, problem);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: plan_layer DEVICE MODEL TOKENS\n");
    return 2;
  }
  const auto plan = plan_layer(argv[1], argv[2], std::atoi(argv[3]));
  if (!plan) {
    std::fprintf(stderr, "plan_layer: %s\n", plan.error().message().c_str());
    return 1;
  }
  for (const tilewright::GemmPlan& gemm : plan->plans) {
    const tilewright::Candidate* chosen = gemm.chosen();
    if (chosen == nullptr) {
      std::printf("%s: nothing fits: %s\n", to_string(gemm.problem.gemm), gemm.rejected.front().message.c_str());
      continue;
    }
    std::printf("%s: %s, %.1f us predicted\n", to_string(gemm.problem.gemm), describe(chosen->schedule).c_str(),
                chosen->cost.predicted_us);
  }
  return 0;
}
