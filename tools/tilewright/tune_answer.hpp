// What `tilewright tune` measured, and how that is told.
#pragma once

#include <string>
#include <vector>

#include "tools/tilewright/report.hpp"
#include "tools/tilewright/verb.hpp"
#include "tune/tune_layer.hpp"

namespace tilewright::cli {

struct TunedLayer {
  LayerProblem layer;
  tune::LayerTuning tuning;
};

struct TuneAnswer {
  TunedOn on;
  std::string cache;  ///< the file
  std::vector<ScheduleBan> bans;
  std::vector<TunedLayer> layers;
};

Report tune_report(const TuneAnswer& answer);

/// 3 where a candidate's numbers are wrong or it cannot be launched, 1 where the run was interrupted.
Exit exit_of(const TuneAnswer& answer);

}  // namespace tilewright::cli
