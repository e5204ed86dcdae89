// Problems, candidates and a measurer whose times are known, with noise that is drawn.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tilewright/planner.hpp"
#include "tilewright/tuner.hpp"
#include "tilewright/tuning_cache.hpp"

namespace tilewright::tune {

inline GemmProblem problem(std::int64_t tokens = 64, GemmId gemm = GemmId::gemm1) {
  LayerProblem layer;
  layer.model.name = "glm-5";
  layer.model.hidden = 6144;
  layer.model.intermediate = 2048;
  layer.model.experts = 256;
  layer.model.routing.top_k = 8;
  layer.tokens = tokens;
  layer.ep = 8;
  const LayerGemms gemms = layer_gemms(layer).value();
  return gemm == GemmId::gemm1 ? gemms.gemm1 : gemms.gemm2;
}

inline std::vector<Candidate> ranked(const GemmProblem& problem) {
  return plan(find_device("h200").value(), problem).value().plans.front().ranked;
}

/// Times that a test sets, in the order of the candidates, times noise; time passes as samples are taken.
class SimulatedMeasurer final : public ScheduleMeasurer {
 public:
  SimulatedMeasurer(const std::vector<Candidate>& candidates, std::vector<double> us, double noise = 0.0,
                    unsigned seed = 1)
      : us_(std::move(us)), noise_(noise), random_(seed) {
    for (const Candidate& candidate : candidates) schedules_.push_back(candidate.schedule);
  }

  Status check(const Schedule& schedule) override {
    checked.push_back(index_of(schedule));
    if (wrong.count(index_of(schedule)) > 0) return fail(ErrorCode::mismatch, "3 of 100 values are wrong");
    return {};
  }

  Result<double> sample(const Schedule& schedule) override {
    const std::size_t i = index_of(schedule);
    sampled.push_back(i);
    seconds += seconds_a_sample;
    if (unlaunchable.count(i) > 0) return fail(ErrorCode::io, "the launch failed");
    double us = us_[i] * std::exp(noise_ * normal_(random_));
    if (const auto hiccup = hiccups.find(sampled.size()); hiccup != hiccups.end()) us *= hiccup->second;
    return us;
  }

  [[nodiscard]] int samples_of(std::size_t candidate) const {
    return static_cast<int>(std::count(sampled.begin(), sampled.end(), candidate));
  }

  std::set<std::size_t> wrong;
  std::set<std::size_t> unlaunchable;
  std::map<std::size_t, double> hiccups;  ///< factor of the n-th sample of all, from 1
  std::vector<std::size_t> checked;
  std::vector<std::size_t> sampled;
  double seconds = 0;
  double seconds_a_sample = 1e-3;

 private:
  [[nodiscard]] std::size_t index_of(const Schedule& schedule) const {
    return static_cast<std::size_t>(std::find(schedules_.begin(), schedules_.end(), schedule) - schedules_.begin());
  }

  std::vector<Schedule> schedules_;
  std::vector<double> us_;
  double noise_;
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
};

inline TunedOn here() { return {"NVIDIA H200", Arch::sm_90, 132, "580.65.06", "0.1.0"}; }

/// An entry whose candidates take these times, in the model's order.
inline TuningEntry entry_of(const GemmProblem& problem, const std::vector<double>& us, int samples = 5) {
  TuningEntry entry{here(), problem, 0.003, {}, {}};
  const auto candidates = ranked(problem);
  for (std::size_t i = 0; i < us.size(); ++i) {
    entry.trials.push_back(
        {candidates[i].schedule, static_cast<int>(i), candidates[i].cost.predicted_us, us[i], samples, {}});
  }
  return entry;
}

}  // namespace tilewright::tune
