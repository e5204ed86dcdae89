// Routings as the planner expects them of a rank (RowModel), for measurements.
#pragma once

#include "tilewright/problem.hpp"
#include "tilewright/result.hpp"
#include "tilewright/routing.hpp"

namespace tilewright::tune {

/// Experts of the tokens of `layer`, whose rank holds experts 0 .. local_experts - 1: at random, as even as can be, or
/// by the power law with exponent 1.2, whose popular experts are dealt to the ranks in turn, the first to this one.
/// `round` makes it another draw. Another exponent and rows that are given expert by expert are `unsupported`.
Result<RoutedTokens> rank_routing(const LayerProblem& layer, int local_experts, int round);

}  // namespace tilewright::tune
