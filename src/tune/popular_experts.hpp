// Which experts the power law of spread_tokens() makes popular.
#pragma once

#include <cstdint>
#include <vector>

namespace tilewright::tune {

/// The popularity rank of each expert, 0 for the most popular one.
std::vector<std::int32_t> popularity_of_experts(int experts);

}  // namespace tilewright::tune
