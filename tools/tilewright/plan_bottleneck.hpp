// plan over several GPUs: where the time goes and what would move it.
#pragma once

#include <string>
#include <vector>

#include "tilewright/bottleneck.hpp"
#include "tilewright/planner.hpp"
#include "tools/tilewright/report.hpp"

namespace tilewright::cli {

/// Splits the layers over `gpus` GPUs: tp * ep has to be that many; where both are 1 the experts are divided. 0: as the
/// problems say.
Status spread_over(std::vector<LayerProblem>& problems, int gpus);

/// The bottlenecks of each layer, as tables in text, md and csv. JSON is the plan with an array "bottlenecks" added.
Result<std::string> render_bottlenecks(const Plan& plan, const std::vector<LayerProblem>& problems, const Link& link,
                                       Format format);

}  // namespace tilewright::cli
