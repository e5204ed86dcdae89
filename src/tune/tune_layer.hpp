// Tuning the GEMMs of a layer for many token counts.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tilewright/device.hpp"
#include "tilewright/schedule_pattern.hpp"
#include "tilewright/tuning_cache.hpp"
#include "tune/gemm_bench.hpp"

namespace tilewright::tune {

/// How far a run is.
struct TuneProgress {
  int done = 0;  ///< problems
  int total = 0;
  double elapsed_s = 0;
  double left_s = 0;  ///< estimated; no more than is left of the budget
  std::string doing;  ///< "gemm1, 64 tokens"
};

struct TuneOptions {
  std::vector<int> tokens;
  double budget_s = 60.0;              ///< of all problems together
  RaceOptions race;                    ///< of one problem; its budget is an upper limit
  std::vector<ScheduleBan> bans;       ///< what matches does not run at all, on any device that they name
  std::optional<SchedulePattern> pin;  ///< GEMMs that have such a schedule get this pin; it is checked and timed beside
                                       ///< the others. `invalid_argument` where neither GEMM has one
  std::function<void(const TuneProgress&)> progress;
};

struct TunedGemm {
  GemmProblem problem;
  Race race;
  std::optional<SchedulePattern> pin;

  [[nodiscard]] const Trial* chosen() const;      ///< null where nothing was
  [[nodiscard]] const Trial* by_default() const;  ///< the model's choice; null where it was not measured
};

enum class TuneEnd { complete, budget, stopped };
const char* to_string(TuneEnd end);

struct LayerTuning {
  std::vector<TunedGemm> gemms;
  int problems = 0;  ///< that were asked for
  double seconds = 0;
  TuneEnd end = TuneEnd::complete;

  [[nodiscard]] std::vector<std::string> errors() const;  ///< of candidates that failed, with their problems
};

/// Races the schedules of both GEMMs of `layer` for each token count, as the planner ranks them for `device`, on
/// `bench`. A problem may take almost twice its even share of the budget that is left. `keep` gets each entry as soon
/// as it is measured; one that was cut short by a stop is kept too. Errors: those of problems, of `bench` and of
/// `keep`.
Result<LayerTuning> tune_layer(const Device& device, const LayerProblem& layer, const TunedOn& on,
                               const TuneOptions& options, GemmBench& bench,
                               const std::function<Status(TuningEntry)>& keep);

}  // namespace tilewright::tune
