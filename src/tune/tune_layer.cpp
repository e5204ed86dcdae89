#include "tune/tune_layer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "tilewright/planner.hpp"

namespace tilewright::tune {
namespace {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Nanoseconds: finer than any measurement, and short in a file.
double rounded_us(double us) { return std::round(us * 1e3) / 1e3; }

std::string name_of(const GemmProblem& problem) {
  return fmt::format("{}, {} tokens", to_string(problem.gemm), problem.tokens);
}

class Tuning {
 public:
  Tuning(const Device& device, const LayerProblem& layer, const TunedOn& on, const TuneOptions& options,
         GemmBench& bench, const std::function<Status(TuningEntry)>& keep)
      : device_(device), layer_(layer), on_(on), options_(options), bench_(bench), keep_(keep) {}

  Result<LayerTuning> run() {
    begin_ = now();
    tuning_.problems = 2 * static_cast<int>(options_.tokens.size());
    for (const int tokens : options_.tokens) {
      LayerProblem layer = layer_;
      layer.tokens = tokens;
      TILEWRIGHT_ASSIGN(const Plan plan, tilewright::plan(device_, layer));
      TILEWRIGHT_ASSIGN(const LayerGemms gemms, layer_gemms(layer));
      TILEWRIGHT_TRY(check_pin(plan));
      for (const GemmPlan& gemm : plan.plans) {
        if (!goes_on()) return finish();
        TILEWRIGHT_TRY(tune({layer, gemm.problem, gemms.local_experts, 0.0}, gemm));
      }
    }
    return finish();
  }

 private:
  [[nodiscard]] double now() const { return options_.race.seconds ? options_.race.seconds() : steady_seconds(); }
  [[nodiscard]] double budget_left() const { return begin_ + options_.budget_s - now(); }
  [[nodiscard]] bool stopped() const { return options_.race.stopped && options_.race.stopped(); }

  bool goes_on() {
    if (stopped()) {
      tuning_.end = TuneEnd::stopped;
    } else if (budget_left() <= 0) {
      tuning_.end = TuneEnd::budget;
    }
    return tuning_.end == TuneEnd::complete;
  }

  LayerTuning finish() {
    tuning_.seconds = now() - begin_;
    return std::move(tuning_);
  }

  [[nodiscard]] bool pins(const GemmPlan& plan) const {
    return options_.pin && std::any_of(plan.ranked.begin(), plan.ranked.end(),
                                       [&](const Candidate& c) { return options_.pin->matches(c.schedule); });
  }

  [[nodiscard]] Status check_pin(const Plan& plan) const {
    if (!options_.pin ||
        std::any_of(plan.plans.begin(), plan.plans.end(), [&](const GemmPlan& g) { return pins(g); })) {
      return {};
    }
    return fail(ErrorCode::invalid_argument, fmt::format("no kernel for this layer is {}", to_string(*options_.pin)),
                "see 'tilewright plan --all' for those that there are");
  }

  void show(const GemmProblem& problem) const {
    if (!options_.progress) return;
    TuneProgress progress;
    progress.done = static_cast<int>(tuning_.gemms.size());
    progress.total = tuning_.problems;
    progress.elapsed_s = now() - begin_;
    progress.left_s = budget_left();
    if (progress.done > 0) {
      const double each = progress.elapsed_s / progress.done;
      progress.left_s = std::min(progress.left_s, each * (progress.total - progress.done));
    }
    progress.doing = name_of(problem);
    options_.progress(progress);
  }

  /// The candidates that may run, with their places among all.
  void allowed(const GemmPlan& plan, std::vector<Candidate>& candidates, std::vector<int>& ranks) const {
    for (std::size_t i = 0; i < plan.ranked.size(); ++i) {
      const bool banned = std::any_of(options_.bans.begin(), options_.bans.end(), [&](const ScheduleBan& ban) {
        return ban.device == on_.device && ban.pattern.matches(plan.ranked[i].schedule);
      });
      if (banned) continue;
      candidates.push_back(plan.ranked[i]);
      ranks.push_back(static_cast<int>(i));
    }
  }

  Status tune(GemmWork work, const GemmPlan& plan) {
    show(work.problem);
    std::vector<Candidate> candidates;
    std::vector<int> ranks;
    allowed(plan, candidates, ranks);
    if (candidates.empty()) {
      return fail(ErrorCode::unsupported, fmt::format("{}: no schedule may run", name_of(work.problem)),
                  plan.ranked.empty() ? "see 'tilewright plan'" : "lift a ban with --unban");
    }
    work.expected_us = candidates.front().cost.predicted_us;
    TILEWRIGHT_ASSIGN(ScheduleMeasurer * measurer, bench_.load(work));
    RaceOptions race_options = options_.race;
    const int problems_left = tuning_.problems - static_cast<int>(tuning_.gemms.size());
    race_options.budget_s = std::min(race_options.budget_s, 2.0 * budget_left() / (problems_left + 1));
    Race result = race(candidates, *measurer, race_options);
    for (std::size_t i = 0; i < result.trials.size(); ++i) {
      result.trials[i].rank = ranks[i];
      result.trials[i].us = rounded_us(result.trials[i].us);
      result.trials[i].predicted_us = rounded_us(result.trials[i].predicted_us);
    }
    result.noise = std::round(result.noise * 1e6) / 1e6;
    if (result.end == RaceEnd::stopped) tuning_.end = TuneEnd::stopped;
    const std::optional<SchedulePattern> pin = pins(plan) ? options_.pin : std::nullopt;
    TuningEntry entry{on_, work.problem, result.noise, result.trials, pin};
    std::erase_if(entry.trials, [](const Trial& trial) { return trial.samples == 0 && trial.error.empty(); });
    tuning_.gemms.push_back({work.problem, std::move(result), pin});
    return entry.trials.empty() ? Status() : keep_(std::move(entry));
  }

  const Device& device_;
  const LayerProblem& layer_;
  const TunedOn& on_;
  const TuneOptions& options_;
  GemmBench& bench_;
  const std::function<Status(TuningEntry)>& keep_;
  LayerTuning tuning_;
  double begin_ = 0;
};

}  // namespace

const char* to_string(TuneEnd end) {
  switch (end) {
    case TuneEnd::complete: return "complete";
    case TuneEnd::budget: return "budget";
    case TuneEnd::stopped: break;
  }
  return "stopped";
}

const Trial* TunedGemm::chosen() const {
  if (pin) {
    const auto pinned = std::find_if(race.trials.begin(), race.trials.end(), [&](const Trial& trial) {
      return pin->matches(trial.schedule) && trial.error.empty();
    });
    return pinned == race.trials.end() ? nullptr : &*pinned;
  }
  return race.chosen ? &race.trials[*race.chosen] : nullptr;
}

const Trial* TunedGemm::by_default() const {
  if (race.trials.empty()) return nullptr;
  const Trial& first = race.trials.front();
  return first.samples > 0 && first.error.empty() ? &first : nullptr;
}

std::vector<std::string> LayerTuning::errors() const {
  std::vector<std::string> all;
  for (const TunedGemm& gemm : gemms) {
    for (const Trial& trial : gemm.race.trials) {
      if (!trial.error.empty()) all.push_back(fmt::format("{}: {}", name_of(gemm.problem), trial.error));
    }
  }
  return all;
}

Result<LayerTuning> tune_layer(const Device& device, const LayerProblem& layer, const TunedOn& on,
                               const TuneOptions& options, GemmBench& bench,
                               const std::function<Status(TuningEntry)>& keep) {
  return Tuning(device, layer, on, options, bench, keep).run();
}

}  // namespace tilewright::tune
