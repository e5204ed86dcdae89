// The tuner: which of several schedules is the fastest, by measurement, in as little time as that takes.
//
// Candidates come in the model's order. Each is checked for its numbers once and then timed in rounds, one sample of
// each a round, so that a drift of the clock meets all of them. Statistics are medians. A candidate is no longer timed
// when it is clearly slower, and the race ends when what is left is told apart to within kSameTime, or cannot be in the
// rounds or the time that there are. The choice is the first, in the model's order, of those that are not slower than
// the fastest by more than kSameTime or the noise, whichever is more: noise never makes it another one than the
// model's, only a difference does.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tilewright/planner.hpp"
#include "tilewright/result.hpp"
#include "tilewright/schedule.hpp"

namespace tilewright {

/// What runs schedules of one problem. Both calls name the problem alone in their errors, not the schedule.
class ScheduleMeasurer {
 public:
  ScheduleMeasurer() = default;
  ScheduleMeasurer(const ScheduleMeasurer&) = delete;
  ScheduleMeasurer& operator=(const ScheduleMeasurer&) = delete;
  virtual ~ScheduleMeasurer() = default;

  /// Runs it once, as it will be timed, and compares its numbers: `mismatch` where they are wrong.
  virtual Status check(const Schedule& schedule) = 0;
  /// Times it once, microseconds.
  virtual Result<double> sample(const Schedule& schedule) = 0;
};

struct RaceOptions {
  double budget_s = 2.0;  ///< no sample begins after that
  int least_rounds = 4;
  int most_rounds = 24;
  double dropped_above = 1.3;       ///< a candidate so many times slower than the fastest in the first round is
                                    ///< not timed again
  std::function<bool()> stopped;    ///< asked before every sample; what was measured is kept. Empty: never
  std::function<double()> seconds;  ///< the time that the budget is of; empty: a steady clock
};

/// One candidate of a race.
struct Trial {
  Schedule schedule;
  int rank = 0;  ///< its place in the model's order, from 0
  double predicted_us = 0;
  double us = 0;  ///< median of the samples; 0 where there is none
  int samples = 0;
  std::string error;  ///< why it does not compete: what it failed at, with its name; empty where it does
};

enum class RaceEnd {
  decided,  ///< what is left is told apart, or is the same to within kSameTime
  rounds,   ///< the noise does not allow more than this in most_rounds
  budget,
  stopped,
};
const char* to_string(RaceEnd end);

struct Race {
  std::vector<Trial> trials;  ///< in the model's order
  double noise = 0;           ///< standard deviation of one sample, as a share
  int rounds = 0;
  RaceEnd end = RaceEnd::decided;
  std::optional<std::size_t> chosen;  ///< none where nothing was measured

  [[nodiscard]] bool failed() const;  ///< some candidate has an error
};

/// Races `ranked`, the first of which is the default.
Race race(const std::vector<Candidate>& ranked, ScheduleMeasurer& measurer, const RaceOptions& options = {});

/// Times within this share of each other are the same.
inline constexpr double kSameTime = 0.01;

/// The choice among trials in the model's order whose samples have this noise, by the rule above; none where no trial
/// without an error has a sample.
std::optional<std::size_t> choose(std::span<const Trial> trials, double noise);

}  // namespace tilewright
