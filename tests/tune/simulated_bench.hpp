// A GPU whose times are the model's, but for the candidate that a test makes the fastest.
#pragma once

#include <algorithm>
#include <memory>

#include "tilewright/planner.hpp"
#include "tune/gemm_bench.hpp"
#include "tune/tuning_fixture.hpp"

namespace tilewright::tune {

class SimulatedBench final : public GemmBench {
 public:
  Result<ScheduleMeasurer*> load(const GemmWork& work) override {
    if (loaded.size() >= most_loads) return fail(ErrorCode::exhausted, "8 GB are wanted, and 4 are free");
    loaded.push_back(work);
    measurer_ = std::make_unique<Measurer>(*this, ranked(work.problem));
    return measurer_.get();
  }

  double seconds = 0;
  double seconds_a_sample = 1e-4;
  double noise = 0.003;
  int samples = 0;
  std::size_t fastest_rank = 0;  ///< is half as long as predicted
  std::size_t wrong_rank = 1000;
  std::size_t most_loads = 100'000;
  std::vector<GemmWork> loaded;

 private:
  class Measurer final : public ScheduleMeasurer {
   public:
    Measurer(SimulatedBench& bench, std::vector<Candidate> candidates)
        : bench_(bench), candidates_(std::move(candidates)) {}

    Status check(const Schedule& schedule) override {
      if (rank_of(schedule) == bench_.wrong_rank) return fail(ErrorCode::mismatch, "2 of 64 values are wrong");
      return {};
    }
    Result<double> sample(const Schedule& schedule) override {
      const std::size_t rank = rank_of(schedule);
      bench_.seconds += bench_.seconds_a_sample;
      ++bench_.samples;
      const double us = candidates_[rank].cost.predicted_us * (rank == bench_.fastest_rank ? 0.5 : 1.0);
      return us * std::exp(bench_.noise * normal_(bench_.random_));
    }

   private:
    [[nodiscard]] std::size_t rank_of(const Schedule& schedule) const {
      const auto same = [&](const Candidate& c) { return c.schedule == schedule; };
      return static_cast<std::size_t>(std::find_if(candidates_.begin(), candidates_.end(), same) - candidates_.begin());
    }

    SimulatedBench& bench_;
    std::vector<Candidate> candidates_;
    std::normal_distribution<double> normal_;
  };

  std::mt19937 random_{1};
  std::unique_ptr<Measurer> measurer_;
};

}  // namespace tilewright::tune
