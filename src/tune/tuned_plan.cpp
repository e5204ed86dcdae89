// A plan in which measurements have the last word.
#include <fmt/format.h>

#include <algorithm>

#include "tilewright/tuning_cache.hpp"

namespace tilewright {
namespace {

TunedChoice choice_of(const TunedSchedule& tuned, const Candidate& model) {
  TunedChoice choice;
  choice.us = tuned.us;
  choice.pinned = tuned.pinned;
  choice.model_choice = model.schedule;
  for (const Trial& trial : tuned.entry->trials) {
    if (trial.schedule == model.schedule && trial.error.empty()) choice.model_us = trial.us;
  }
  choice.source = fmt::format("{}, driver {}", tuned.entry->on.device, tuned.entry->on.driver);
  return choice;
}

/// The step of a layer that is this GEMM, as its new first candidate is predicted.
void move_time(Plan& plan, std::size_t gemm, double before_us, double after_us) {
  if (plan.layers.size() * 2 != plan.plans.size()) return;  // GEMMs by themselves
  LayerTime& layer = plan.layers[gemm / 2];
  if (layer.predicted_us > 0) layer.predicted_us += after_us - before_us;
  for (LayerStep& step : layer.steps) {
    if (step.name == to_string(plan.plans[gemm].problem.gemm)) step.us += after_us - before_us;
  }
}

}  // namespace

std::vector<std::string> use_tuning_cache(Plan& plan, const TuningCache& cache, const TunedOn& on) {
  std::vector<std::string> stale;
  for (std::size_t i = 0; i < plan.plans.size(); ++i) {
    GemmPlan& gemm = plan.plans[i];
    if (gemm.ranked.empty()) continue;
    const Result<TunedSchedule> tuned = cache.find(on, gemm.problem);
    if (!tuned) {
      if (tuned.error().code == ErrorCode::mismatch) {
        stale.push_back(fmt::format("{}, {} tokens: {}", to_string(gemm.problem.gemm), gemm.problem.tokens,
                                    tuned.error().message()));
      }
      continue;
    }
    const auto found = std::find_if(gemm.ranked.begin(), gemm.ranked.end(),
                                    [&](const Candidate& c) { return c.schedule == tuned->schedule; });
    if (found == gemm.ranked.end()) continue;  // the device of the plan has other limits than the one it ran on
    gemm.tuned = choice_of(*tuned, gemm.ranked.front());
    move_time(plan, i, gemm.ranked.front().cost.predicted_us, found->cost.predicted_us);
    std::rotate(gemm.ranked.begin(), found, found + 1);
  }
  return stale;
}

}  // namespace tilewright
