// What a regret run measured, as a file: times alone, so that a change of the cost model is judged on them again,
// without the GPU.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tilewright/problem.hpp"
#include "tilewright/result.hpp"
#include "tilewright/tuning_cache.hpp"
#include "tune/regret_run.hpp"

namespace tilewright::tune {

/// Times of one GEMM's schedules; `us` in the order of RegretTrials::schedules, 0 where there is none.
struct RecordedGemm {
  std::string model;
  int tp = 1;
  int ep = 1;
  RowDistribution distribution = RowDistribution::uniform_random;
  GemmId gemm = GemmId::gemm1;
  std::int64_t tokens = 0;
  double noise = 0;
  std::vector<double> us;
};

struct RegretTrials {
  TunedOn on;                             ///< with the version that measured
  std::string timing;                     ///< how, in words
  double seconds = 0;                     ///< that the run took
  std::vector<std::string> schedules[2];  ///< as describe() says them, of GEMM1 and of GEMM2
  std::vector<RecordedGemm> gemms;
};

/// What `run` measured, of rows that are complete.
RegretTrials recorded(const RegretRun& run, const TunedOn& on, const std::string& timing);

/// JSON, schema tilewright.regret-trials/1, a GEMM a line.
std::string text(const RegretTrials& trials);
/// Of that text. `corrupt` with the place where it is anything else.
Result<RegretTrials> parse_regret_trials(std::string_view text);

/// The run as it would have been with the choices and times that this build's model has for `device`: each layer of
/// `shapes` is planned, and its schedules have the recorded times. GEMMs of the set that were not recorded are left
/// out; one that is recorded and not in the set is `not_found`.
Result<RegretRun> replay_regret(const Device& device, const std::vector<RegretShape>& shapes,
                                const RegretTrials& trials);

}  // namespace tilewright::tune
