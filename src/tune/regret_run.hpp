// Measuring every legal schedule of a set of layers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tilewright/device.hpp"
#include "tilewright/problem.hpp"
#include "tune/gemm_bench.hpp"
#include "tune/regret.hpp"

namespace tilewright::tune {

/// A layer of the set, and which half it is in.
struct RegretShape {
  LayerProblem layer;
  bool held_out = false;
};

/// The set that reports are made of: GLM-5, DeepSeek-V3, Qwen3-30B, Qwen3.5-397B, gpt-oss-120b and MiniMax-M2, each as
/// slices under TP and EP (and whole where one GPU serves it), 1 to 8,192 tokens by powers of two and odd counts
/// between, uniform; and every other of those counts by the power law; in an order in which any beginning has something
/// of every model, of small and of large counts. The models alternate by size between the halves,
/// as those of published times do: the first, in order of H, I, top-k and experts, may have constants taken from it,
/// the second is held out. `models` empty: all of them; otherwise by name (`not_found` for one that is not in the set).
/// `find` knows the models.
Result<std::vector<RegretShape>> regret_shapes(const std::vector<std::string>& models,
                                               Result<ModelFacts> (*find)(const std::string&));

struct RegretProgress {
  int done = 0;  ///< problems, of `total`
  int total = 0;
  double elapsed_s = 0;
  double left_s = 0;
  std::string doing;
};

struct RegretOptions {
  double budget_s = 240.0;
  RaceOptions race;  ///< of one problem
  std::function<void(const RegretProgress&)> progress;
};

struct RegretRun {
  std::vector<RegretRow> rows;  ///< problems of which something was measured
  int problems = 0;             ///< that were asked for
  double seconds = 0;
  bool stopped = false;      ///< by the user
  bool out_of_time = false;  ///< the budget ended before the set did
  std::string failure;       ///< why `bench` could not load the problem that ended the run, with its name; else empty

  /// Problems without a time of every schedule: those that the run did not come to, and one that it ended in.
  [[nodiscard]] int left_out() const;
  /// Schedules that failed, and the failure.
  [[nodiscard]] std::vector<std::string> errors() const;
};

/// Races all schedules of both GEMMs of every shape. When the budget ends or `race.stopped` says so, what was measured
/// is the answer; so it is when `bench` cannot load a problem, which ends the run. Shapes are measured in their order.
/// An error is of a shape that cannot be planned.
Result<RegretRun> measure_regret(const Device& device, const std::vector<RegretShape>& shapes,
                                 const RegretOptions& options, GemmBench& bench);

}  // namespace tilewright::tune
