// How good the planner's choices and times are, against what was measured.
#pragma once

#include <string>
#include <vector>

#include "cuda/device.hpp"
#include "gemm_timer.hpp"
#include "tilewright/planner.hpp"

namespace tilewright::cuda {

/// The schedule that the planner chooses for one GEMM of a model, with its predicted time. Throws where it has none.
Candidate planned(const GpuInfo& gpu, const BenchModel& model, bool first, int tokens);

/// One problem: the chosen kernel's time and prediction, and the fastest kernel's time.
struct Choice {
  std::string model;
  double chosen_us = 0.0;
  double predicted_us = 0.0;
  double fastest_us = 0.0;

  [[nodiscard]] double regret() const { return chosen_us / fastest_us; }
  [[nodiscard]] double time_error() const;
};

struct Quality {
  int problems = 0;
  double regret_geomean = 0.0;
  double regret_p95 = 0.0;
  double regret_worst = 0.0;
  double top1 = 0.0;       ///< share of problems whose chosen kernel is the fastest one
  double time_mape = 0.0;  ///< mean of |predicted / measured - 1|
  double time_p90 = 0.0;
};
Quality quality_of(const std::vector<Choice>& choices);

}  // namespace tilewright::cuda
