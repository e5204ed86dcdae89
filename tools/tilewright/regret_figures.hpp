// The charts of `regret`; their numbers stand in the table of problems before them.
#pragma once

#include "tools/tilewright/report.hpp"
#include "tune/regret_run.hpp"

namespace tilewright::cli {

/// Appends regret against tokens and the error of predicted times against tokens, a point a problem, by half.
void add_regret_figures(Report& report, const tune::RegretRun& run);

}  // namespace tilewright::cli
