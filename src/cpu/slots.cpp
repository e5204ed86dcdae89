#include "cpu/slots.hpp"

#include <fmt/format.h>

#include <cmath>

namespace tilewright::cpu {
namespace {

Status check_slots(const RoutedTokens& routed, int global) {
  const auto slots = static_cast<std::size_t>(routed.tokens) * static_cast<std::size_t>(routed.top_k);
  if (routed.ids.size() != slots || routed.weights.size() != slots) {
    return fail(ErrorCode::mismatch,
                fmt::format("{} ids and {} weights for {} tokens x top-{}", routed.ids.size(), routed.weights.size(),
                            routed.tokens, routed.top_k),
                "give one id and one weight a slot, with id -1 for slots to ignore");
  }
  for (std::size_t i = 0; i < slots; ++i) {
    if (routed.ids[i] < -1 || routed.ids[i] >= global) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("token {} slot {} has expert id {}, outside -1 to {}", i / routed.top_k, i % routed.top_k,
                              routed.ids[i], global - 1),
                  "use global expert ids");
    }
    if (routed.ids[i] >= 0 && !std::isfinite(routed.weights[i])) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("token {} slot {} has weight {}", i / routed.top_k, i % routed.top_k, routed.weights[i]),
                  "check the router: weights must be finite");
    }
  }
  return {};
}

}  // namespace

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
