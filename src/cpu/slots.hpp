// Slots sorted by expert: which (token, weight) pairs each local expert works on.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewright/result.hpp"
#include "tilewright/routing.hpp"

namespace tilewright::cpu {

struct Slot {
  std::int32_t token;
  std::int32_t expert;  ///< local
  std::int32_t index;   ///< position in the routed arrays: token * top_k + slot of the token
  float weight;         ///< of the output
};

/// The slots of local expert e are sorted[start[e]] .. sorted[start[e + 1]), in token order.
struct SlotsByExpert {
  std::vector<Slot> sorted;
  std::vector<std::int64_t> start;

  [[nodiscard]] std::int64_t rows(int expert) const { return start[expert + 1] - start[expert]; }
};

/// Sorts the slots of experts [first, first + count) of `global`. An id outside [-1, global) or arrays of the wrong
/// length are errors that name token and slot; a weight that is not finite is one too.
Status sort_slots(const RoutedTokens& routed, int first, int count, int global, SlotsByExpert& out);

}  // namespace tilewright::cpu
