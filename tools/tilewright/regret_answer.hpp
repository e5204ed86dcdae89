// What `tilewright regret` measured, and how that is told.
#pragma once

#include "tilewright/device.hpp"
#include "tilewright/tuning_cache.hpp"
#include "tools/tilewright/report.hpp"
#include "tune/regret_run.hpp"

namespace tilewright::cli {

struct RegretAnswer {
  TunedOn on;
  Device device;  ///< that the planner took it for
  tune::RegretRun run;
  bool all = false;    ///< every schedule, in JSON
  std::string timing;  ///< how times were taken
  std::string
      predicted_by;  ///< version of the model, where the times are recorded ones; else empty: the one that measured
};

/// How `regret` times schedules.
extern const char* const kRegretTiming;

Report regret_report(const RegretAnswer& answer, Format format);

}  // namespace tilewright::cli
