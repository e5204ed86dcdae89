// RowDistribution::power_law expert by expert.
#pragma once

#include <vector>

namespace tilewright::schedule {

/// Chance of each expert, most popular first, to be among a token's k: proportional to i^-alpha, capped at 1, sum k.
std::vector<double> power_law_chances(int top_k, int experts, double alpha);

}  // namespace tilewright::schedule
