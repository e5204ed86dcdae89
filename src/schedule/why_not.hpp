// Why one tile was not chosen.
#pragma once

#include "tilewright/planner.hpp"

namespace tilewright::schedule {

/// Answers for `tile` from a plan whose candidates are already ranked.
WhyNot why_not(const Device& device, const GemmPlan& plan, const TileSpec& tile);

}  // namespace tilewright::schedule
