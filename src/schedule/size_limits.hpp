// The largest sizes that the planner takes. With them every product of the byte account and the cost model stays within
// 63 bits, whatever the combination.
#pragma once

#include <cstdint>

namespace tilewright::schedule {

inline constexpr std::int64_t kMostRows = std::int64_t{1} << 36;  // of all experts; and tokens
inline constexpr std::int64_t kMostExperts = std::int64_t{1} << 20;
inline constexpr std::int64_t kLargestMatrix = std::int64_t{1} << 20;  // N and K
inline constexpr int kLargestTile = 1 << 14;                           // a side of a tile: two multiply to an int

}  // namespace tilewright::schedule
