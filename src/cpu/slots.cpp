#include "cpu/slots.hpp"

#include "numerics/routing_rules.hpp"

namespace tilewright::cpu {

Status sort_slots(const RoutedTokens& routed, int first, int count, int global, SlotsByExpert& out) {
  TILEWRIGHT_TRY(check_slots(routed, global));
  out.start.assign(static_cast<std::size_t>(count) + 1, 0);
  const auto local = [&](std::size_t i) { return routed.ids[i] < 0 ? -1 : routed.ids[i] - first; };
  for (std::size_t i = 0; i < routed.ids.size(); ++i) {
    const std::int32_t e = local(i);
    if (e >= 0 && e < count) ++out.start[static_cast<std::size_t>(e) + 1];
  }
  for (int e = 0; e < count; ++e) out.start[e + 1] += out.start[e];
  out.sorted.resize(static_cast<std::size_t>(out.start[count]));
  std::vector<std::int64_t> next(out.start.begin(), out.start.end() - 1);
  for (std::size_t i = 0; i < routed.ids.size(); ++i) {
    const std::int32_t e = local(i);
    if (e < 0 || e >= count) continue;
    out.sorted[static_cast<std::size_t>(next[e]++)] = {static_cast<std::int32_t>(i / routed.top_k), e,
                                                       static_cast<std::int32_t>(i),
                                                       routed.scale_input ? 1.0F : routed.weights[i]};
  }
  return {};
}

}  // namespace tilewright::cpu
