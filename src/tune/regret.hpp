// How good the planner's choices and times are: regret, and errors of predictions, over many problems whose schedules
// have all been measured.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tilewright/problem.hpp"
#include "tilewright/tuner.hpp"

namespace tilewright::tune {

/// One measured problem. Trials are in the model's order: the first is its choice.
struct RegretRow {
  std::string model;
  int tp = 1;
  int ep = 1;
  RowDistribution distribution = RowDistribution::uniform_random;
  GemmId gemm = GemmId::gemm1;
  std::int64_t tokens = 0;
  bool held_out = false;  ///< not of the half that constants of the model may be taken from
  double noise = 0;
  std::vector<Trial> trials;

  /// Whether the model's choice has a time, and every other schedule one or an error.
  [[nodiscard]] bool complete() const;
  [[nodiscard]] const Trial& choice() const { return trials.front(); }
  /// Index of the fastest of those that have a time.
  [[nodiscard]] std::size_t fastest() const;
  /// Time of the fastest of the first `count` over the fastest of all: what measuring so many would leave.
  [[nodiscard]] double regret(std::size_t count = 1) const;
  /// predicted / measured - 1 of the choice.
  [[nodiscard]] double time_error() const;
};

/// Over some of the rows.
struct RegretSummary {
  int shapes = 0;  ///< problems
  double regret_geomean = 0;
  double regret_p95 = 0;
  double regret_worst = 0;
  double top1 = 0;         ///< share of problems whose fastest schedule is the model's first,
  double top3 = 0;         ///< among its first three,
  double top8 = 0;         ///< among its first eight
  double regret_top3 = 0;  ///< geometric mean of what measuring the first three would leave,
  double regret_top8 = 0;  ///< the first eight
  double time_mape = 0;    ///< mean of |predicted / measured - 1| of the choices
  double time_p90 = 0;     ///< 90th percentile of it
  double time_bias = 0;    ///< geometric mean of predicted / measured, less 1
  int schedules = 0;       ///< measured, of all problems
  double all_mape = 0;     ///< mean of the error over all of those
};

/// Of rows that are complete(); zeros where there is none.
RegretSummary summarize(std::span<const RegretRow* const> rows);

}  // namespace tilewright::tune
