// Times every built SM90 kernel that suits a row of the table; prints the fastest of each, the planner's choice and
// what it predicted, as JSON.
//
//   cuda_gemm_bench [--gemm 1|2] [--tokens N] [--tile-n N] [MODEL...]   glm5, qwen3, dsv3, gptoss; all without one
//
// Conditions: gemm_timer.hpp. `held_out` sums up the models that no constant of the cost model was taken from.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "cuda/moe/layer_schedules.hpp"
#include "gemm_timer.hpp"
#include "tune/regret.hpp"

namespace {

using namespace tilewright;
using namespace tilewright::cuda;
using sm90::BuiltGemm;

constexpr BenchModel kModels[] = {{"glm5", 6144, 2048, 32, 8},
                                  {"qwen3", 2048, 768, 128, 8},
                                  {"dsv3", 7168, 2048, 32, 8},
                                  {"gptoss", 2880, 2880, 128, 4}};
constexpr int kTokenCounts[] = {1, 8, 32, 64, 128, 512, 2048, 8192};
/// What to time; 0 and an empty list are everything.
struct Selection {
  int gemm = 0;
  int tokens = 0;
  int tile_n = 0;
  std::vector<std::string> models;

  [[nodiscard]] bool has(const BenchModel& model) const {
    return models.empty() || std::find(models.begin(), models.end(), model.name) != models.end();
  }
};

Selection selection_of(const std::vector<std::string>& arguments) {
  Selection selection;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    int* number = arguments[i] == "--gemm"     ? &selection.gemm
                  : arguments[i] == "--tokens" ? &selection.tokens
                  : arguments[i] == "--tile-n" ? &selection.tile_n
                                               : nullptr;
    if (number == nullptr) {
      selection.models.push_back(arguments[i]);
    } else if (i + 1 < arguments.size()) {
      *number = std::atoi(arguments[++i].c_str());
    }
  }
  return selection;
}

bool held_out(const std::string& model) { return model == "dsv3" || model == "gptoss"; }

/// All kernels of one problem.
struct Measured {
  Timing fastest;
  const BuiltGemm* gemm = nullptr;
  tune::RegretRow row;  ///< the planner's choice, without a time where it was not measured, and the fastest kernel
};

/// The schedule that the planner chooses for one GEMM of a model, with its predicted time. Throws where it has none.
Candidate planned(const GpuInfo& gpu, const BenchModel& model, bool first, int tokens) {
  const LayerShape shape{model.experts, model.experts, model.top_k, model.hidden, model.intermediate, true};
  const auto plans = plan_layer(gpu, shape, tokens);
  if (!plans) throw std::runtime_error(plans.error().message());
  return first ? plans->gemm1 : plans->gemm2;
}

Trial trial_of(const Schedule& schedule, double predicted_us, double us) {
  return {schedule, 0, predicted_us, us, us > 0.0 ? 9 : 0, {}};
}

Measured measure(GemmTimer& timer, const GpuInfo& gpu, const BenchModel& model, bool first, int tokens, int tile_n) {
  const Candidate plan = planned(gpu, model, first, tokens);
  Measured measured;
  double chosen_us = 0.0;
  for (const BuiltGemm& gemm : sm90::built_gemms()) {
    const bool chosen = gemm.schedule == plan.schedule;
    if (!chosen && !timer.suits(gemm.schedule, tokens)) continue;
    if (tile_n != 0 && gemm.schedule.tile_n != tile_n) continue;
    const Timing timing = timer.time(gemm, tokens);
    std::fprintf(stderr, "%s %s T=%d %s: %.1f us\n", model.name, first ? "gemm1" : "gemm2", tokens,
                 describe(gemm.schedule).c_str(), timing.us);
    if (chosen) chosen_us = timing.us;
    if (measured.gemm != nullptr && timing.us >= measured.fastest.us) continue;
    measured.fastest = timing;
    measured.gemm = &gemm;
  }
  measured.row.model = model.name;
  measured.row.trials = {trial_of(plan.schedule, plan.cost.predicted_us, chosen_us),
                         trial_of(measured.gemm->schedule, 0.0, measured.fastest.us)};
  return measured;
}

void print_row(const Measured& m, const BenchModel& model, bool first, int tokens, const char* separator) {
  std::printf(
      "%s    {\"model\": \"%s\", \"gemm\": \"%s\", \"tokens\": %d, \"precision\": \"w4a16\", \"us\": %.2f, "
      "\"spread\": %.4f, \"weight_GBps\": %.1f, \"tflops\": %.1f, \"schedule\": \"%s\", \"split\": \"%s\", "
      "\"chosen_us\": %.2f, \"predicted_us\": %.2f}",
      separator, model.name, first ? "gemm1" : "gemm2", tokens, m.fastest.us, m.fastest.spread, m.fastest.weight_GBps,
      m.fastest.tflops, describe(m.gemm->schedule).c_str(), to_string(m.gemm->schedule.split.kind), m.row.choice().us,
      m.row.choice().predicted_us);
}

void print_quality(const char* name, const std::vector<tune::RegretRow>& rows, bool held_out_only) {
  std::vector<const tune::RegretRow*> wanted;
  for (const tune::RegretRow& row : rows) {
    if (!held_out_only || held_out(row.model)) wanted.push_back(&row);
  }
  const tune::RegretSummary q = tune::summarize(wanted);
  std::printf(
      ",\n  \"%s\": {\"shapes\": %d, \"regret_geomean\": %.4f, \"regret_p95\": %.4f, \"regret_worst\": %.4f, "
      "\"top1\": %.3f, \"time_mape\": %.4f, \"time_p90\": %.4f}",
      name, q.shapes, q.regret_geomean, q.regret_p95, q.regret_worst, q.top1, q.time_mape, q.time_p90);
}

int run(const Selection& selection) {
  const auto gpu = current_sm90();
  if (!gpu) {
    std::fprintf(stderr, "cuda_gemm_bench: %s\n", gpu.error().message().c_str());
    return 4;
  }
  std::printf(
      "{\n  \"schema\": \"tilewright.bench/1\",\n  \"backend\": \"cuda\",\n  \"context\": {\"device\": \"%s\", "
      "\"sm_count\": %d, \"copy_GBps\": %.1f, \"timing\": \"graph of launches, weights and routings rotated, "
      "median of 9 replays\"},\n  \"results\": [",
      gpu->name.c_str(), gpu->sm_count, copy_GBps());
  const char* separator = "\n";
  std::vector<tune::RegretRow> all;
  for (const BenchModel& model : kModels) {
    if (!selection.has(model)) continue;
    for (const bool first : {true, false}) {
      if (selection.gemm != 0 && selection.gemm != (first ? 1 : 2)) continue;
      GemmTimer timer(model, first, gpu->sm_count);
      for (const int tokens : kTokenCounts) {
        if (selection.tokens != 0 && selection.tokens != tokens) continue;
        const Measured measured = measure(timer, *gpu, model, first, tokens, selection.tile_n);
        if (measured.gemm == nullptr) continue;
        print_row(measured, model, first, tokens, separator);
        separator = ",\n";
        if (measured.row.choice().us > 0.0) all.push_back(measured.row);
      }
    }
  }
  std::printf("\n  ]");
  print_quality("all", all, false);
  print_quality("held_out", all, true);
  std::printf("\n}\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(selection_of(std::vector<std::string>(argv + 1, argv + argc)));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cuda_gemm_bench: %s\n", error.what());
    return 1;
  }
}
