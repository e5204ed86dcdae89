// What every way of routing agrees on, on the CPU and on a GPU.
#pragma once

#include "tilewright/result.hpp"
#include "tilewright/routing.hpp"

namespace tilewright {

/// The scorings that take each expert on its own, and with it a selection bias and groups.
constexpr bool scores_alone(Scoring scoring) { return scoring == Scoring::sigmoid || scoring == Scoring::sqrtsoftplus; }

/// What DeepSeek-V3's gate adds to the sum of the weights so that k scores of 0 do not divide by 0.
inline constexpr float kRenormalizeEpsilon = 1e-20F;

/// Whether a routing makes sense for this many experts: an error names the setting that contradicts another.
Status check_routing(const Routing& routing, int experts);

/// Whether given experts and weights can be run: one id and one weight a slot, ids from -1 to `experts` - 1, finite
/// weights where there is an expert. An error names token and slot.
Status check_slots(const RoutedTokens& routed, int experts);

}  // namespace tilewright
