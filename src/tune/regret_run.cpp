#include "tune/regret_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "tilewright/planner.hpp"

namespace tilewright::tune {
namespace {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string name_of(const RegretRow& row) {
  return fmt::format("{}, tp {}, ep {}, {}, {} tokens", row.model, row.tp, row.ep, to_string(row.gemm), row.tokens);
}

/// Without its measurements.
RegretRow row_of(const RegretShape& shape, GemmId gemm) {
  RegretRow row;
  row.model = shape.layer.model.name;
  row.tp = shape.layer.tp;
  row.ep = shape.layer.ep;
  row.distribution = shape.layer.rows.distribution;
  row.gemm = gemm;
  row.tokens = shape.layer.tokens;
  row.held_out = shape.held_out;
  return row;
}

class Measuring {
 public:
  Measuring(const Device& device, const RegretOptions& options, GemmBench& bench)
      : device_(device), options_(options), bench_(bench) {}

  Result<RegretRun> run(const std::vector<RegretShape>& shapes) {
    const double begin = now();
    end_ = begin + options_.budget_s;
    run_.problems = 2 * static_cast<int>(shapes.size());
    for (std::size_t i = 0; i < shapes.size() && goes_on(); ++i) {
      TILEWRIGHT_TRY(measure(shapes[i], begin));
    }
    run_.seconds = now() - begin;
    return std::move(run_);
  }

 private:
  [[nodiscard]] double now() const { return options_.race.seconds ? options_.race.seconds() : steady_seconds(); }

  bool goes_on() {
    run_.stopped = run_.stopped || (options_.race.stopped && options_.race.stopped());
    run_.out_of_time = run_.out_of_time || now() >= end_;
    return !run_.stopped && !run_.out_of_time && run_.failure.empty();
  }

  void show(const RegretShape& shape, double begin) {
    if (!options_.progress) return;
    RegretProgress progress;
    progress.done = done_;
    progress.total = run_.problems;
    progress.elapsed_s = now() - begin;
    const double each = done_ == 0 ? 0.0 : progress.elapsed_s / done_;
    progress.left_s = done_ == 0 ? end_ - now() : std::min(end_ - now(), each * (run_.problems - done_));
    progress.doing = fmt::format("{}, tp {}, ep {}, {} tokens", shape.layer.model.name, shape.layer.tp, shape.layer.ep,
                                 shape.layer.tokens);
    options_.progress(progress);
  }

  Status measure(const RegretShape& shape, double begin) {
    TILEWRIGHT_ASSIGN(const Plan plan, tilewright::plan(device_, shape.layer));
    TILEWRIGHT_ASSIGN(const LayerGemms gemms, layer_gemms(shape.layer));
    for (const GemmPlan& gemm : plan.plans) {
      if (!goes_on()) return {};
      show(shape, begin);
      if (!gemm.ranked.empty()) {
        const double expected = gemm.ranked.front().cost.predicted_us;
        const Result<ScheduleMeasurer*> measurer =
            bench_.load({shape.layer, gemm.problem, gemms.local_experts, expected});
        if (!measurer) {
          run_.failure = fmt::format("{}: {}", name_of(row_of(shape, gemm.problem.gemm)), measurer.error().message());
          return {};
        }
        Race result = race(gemm.ranked, **measurer, options_.race);
        add(shape, gemm.problem.gemm, std::move(result));
      }
      ++done_;
    }
    return {};
  }

  void add(const RegretShape& shape, GemmId gemm, Race result) {
    RegretRow row = row_of(shape, gemm);
    row.noise = result.noise;
    row.trials = std::move(result.trials);
    if (std::any_of(row.trials.begin(), row.trials.end(), [](const Trial& t) { return t.samples > 0; })) {
      run_.rows.push_back(std::move(row));
    }
  }

  const Device& device_;
  const RegretOptions& options_;
  GemmBench& bench_;
  RegretRun run_;
  double end_ = 0;
  int done_ = 0;
};

}  // namespace

int RegretRun::left_out() const {
  return problems -
         static_cast<int>(std::count_if(rows.begin(), rows.end(), [](const RegretRow& r) { return r.complete(); }));
}

std::vector<std::string> RegretRun::errors() const {
  std::vector<std::string> all;
  for (const RegretRow& row : rows) {
    for (const Trial& trial : row.trials) {
      if (!trial.error.empty()) all.push_back(fmt::format("{}: {}", name_of(row), trial.error));
    }
  }
  if (!failure.empty()) all.push_back(failure);
  return all;
}

Result<RegretRun> measure_regret(const Device& device, const std::vector<RegretShape>& shapes,
                                 const RegretOptions& options, GemmBench& bench) {
  return Measuring(device, options, bench).run(shapes);
}

}  // namespace tilewright::tune
