// The planner: which schedule runs a problem on a device, what it will cost, and why the others were not chosen.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tilewright/cost.hpp"
#include "tilewright/device.hpp"
#include "tilewright/problem.hpp"
#include "tilewright/rejection.hpp"
#include "tilewright/schedule.hpp"
#include "tilewright/shared_memory.hpp"

namespace tilewright {

/// A legal schedule with its predicted time.
struct Candidate {
  Schedule schedule;
  Cost cost;
};

/// The answer to "why not this tile?".
struct WhyNot {
  TileSpec tile;
  bool is_chosen = false;              ///< the tile is the one that was chosen
  std::optional<Rejection> rejection;  ///< it breaks a rule
  std::optional<Candidate> candidate;  ///< it is legal: its best variant
  Bound differs = Bound::dram;         ///< the term that costs it most against the chosen one
  std::string message;                 ///< the answer on one line
};

/// That measurements chose, and what the model would have chosen.
struct TunedChoice {
  double us = 0;          ///< measured, of the chosen schedule; 0 where it was pinned and not measured
  Schedule model_choice;  ///< what the model alone chooses
  double model_us = 0;    ///< measured, of that one; 0 where it was not measured
  bool pinned = false;    ///< it was not chosen, but given
  std::string source;     ///< what was measured with what: "NVIDIA H200, driver 580.65.06"
};

/// The plan of one grouped GEMM.
struct GemmPlan {
  GemmProblem problem;
  Roofline floor;
  std::vector<Candidate> ranked;     ///< legal candidates, best first; empty when nothing can run
  std::optional<TunedChoice> tuned;  ///< where the first of them was measured or pinned, not predicted, to be so
  std::vector<Rejection> rejected;   ///< of every tile, the variant that failed first
  std::vector<WhyNot> why_not;       ///< one for each tile asked about

  /// The schedule that runs; null when nothing can (then `rejected` says why).
  [[nodiscard]] const Candidate* chosen() const { return ranked.empty() ? nullptr : ranked.data(); }
  /// The best candidate that differs from the chosen one in more than its stages; null when there is none.
  [[nodiscard]] const Candidate* runner_up() const;
};

/// What a layer costs besides its two GEMMs.
struct LayerStep {
  std::string name;  ///< "route", "quantize", "gemm1", "gemm2", "combine"
  std::int64_t bytes = 0;
  double us = 0;
};

struct LayerTime {
  std::int64_t tokens = 0;
  double predicted_us = 0;  ///< 0 when a GEMM has no schedule
  double floor_us = 0;      ///< the larger of all bytes at spec bandwidth and all FLOPs at peak, one fused kernel
  std::vector<LayerStep> steps;
};

/// A plan document: what `plan` prints, in any format.
struct Plan {
  Device device;
  std::string subject;  ///< the problem in words: "glm-5, ep 8, w4a4"
  std::vector<GemmPlan> plans;
  std::vector<LayerTime> layers;  ///< one for each token count of a layer problem
};

struct PlanOptions {
  std::vector<TileSpec> why_not;
};

/// Plans one grouped GEMM. The problem is checked first: sizes must be positive.
Result<Plan> plan(const Device& device, const GemmProblem& problem, const PlanOptions& options = {});

/// Plans both GEMMs of a layer.
Result<Plan> plan(const Device& device, const LayerProblem& problem, const PlanOptions& options = {});

/// Appends the GEMMs and layers of `more`, a plan for the same device, to `into`.
void append(Plan& into, Plan more);

}  // namespace tilewright
