// Which SM of a persistent grid has the most to do: the rule by which blocks take tiles
// (src/cuda/grouped/tile_walk.hpp), counted instead of walked.
#pragma once

#include <cstdint>
#include <vector>

namespace tilewright::schedule {

/// Work of one cost, in the order in which SMs take it: whole tiles, or k-blocks of them.
struct WorkRun {
  std::int64_t units = 0;
  double cycles = 0;  ///< of one unit
};

/// SMs take units in turn. Units of each run that the SM with the longest work has.
std::vector<std::int64_t> busiest_in_turn(const std::vector<WorkRun>& runs, int sm_count);

/// Each SM takes an equal share of all units, one after the other (stream-K). Likewise.
std::vector<std::int64_t> busiest_of_even_shares(const std::vector<WorkRun>& runs, int sm_count);

}  // namespace tilewright::schedule
