// What times the GEMMs of a layer, one problem after the other: a GPU, or a simulation of one.
#pragma once

#include "tilewright/problem.hpp"
#include "tilewright/result.hpp"
#include "tilewright/tuner.hpp"

namespace tilewright::tune {

/// One GEMM of a layer as a rank has it.
struct GemmWork {
  LayerProblem layer;
  GemmProblem problem;  ///< of that layer
  int local_experts = 0;
  double expected_us = 0;  ///< by the model, of its choice: how long a sample should be
};

class GemmBench {
 public:
  GemmBench() = default;
  GemmBench(const GemmBench&) = delete;
  GemmBench& operator=(const GemmBench&) = delete;
  virtual ~GemmBench() = default;

  /// Gets ready to run schedules of `work`; the answer holds until the next call.
  virtual Result<ScheduleMeasurer*> load(const GemmWork& work) = 0;
};

}  // namespace tilewright::tune
