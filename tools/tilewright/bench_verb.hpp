// The parts of `tilewright bench`: one file a backend, for what it measures and how that is told.
#pragma once

#include <string>
#include <vector>

#include "tilewright/cpu_backend.hpp"
#include "tilewright/model.hpp"
#include "tilewright/moe_layer.hpp"
#include "tools/tilewright/backend_options.hpp"
#include "tools/tilewright/cache_options.hpp"
#include "tools/tilewright/problem_options.hpp"
#include "tools/tilewright/progress.hpp"
#include "tools/tilewright/report.hpp"

namespace tilewright::cli {

struct BenchOptions {
  BackendOptions backend;
  ProblemOptions problem;
  std::string spread;  ///< empty: the backend's default
  CpuOptions cpu;
  double seconds = 2.0;
  bool graph = false;
  bool local = false;
  CacheOptions cache;
  Format format = Format::text;
};

/// What the lists of the options multiply out to.
struct BenchPlan {
  MoeLayerOptions how;  ///< backend and kernels
  ModelFacts model;
  std::vector<int> tokens;
  std::vector<Precision> precisions;
  std::vector<int> tps;
  std::vector<int> eps;
};

/// Runs the plan and adds `context`, `results[]` and the sections.
Status add_cpu_bench(const BenchOptions& options, const BenchPlan& plan, Report& report);
Status add_cuda_bench(const BenchOptions& options, const BenchPlan& plan, Report& report);

}  // namespace tilewright::cli
