#include "tune/routed_work.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright::tune {

RoutedWork routed_work(const RoutedTokens& routed, int first, int count) {
  std::vector<bool> seen(static_cast<std::size_t>(count));
  RoutedWork work;
  for (const std::int32_t id : routed.ids) {
    if (id < first || id >= first + count) continue;
    ++work.rows;
    seen[static_cast<std::size_t>(id - first)] = true;
  }
  work.active_experts = static_cast<int>(std::count(seen.begin(), seen.end(), true));
  return work;
}

ModelFacts local_model(const ModelFacts& model, int count) {
  ModelFacts local = model;
  local.experts = count;
  local.routing.groups = local.routing.top_groups = 1;  // groups are runs of all experts
  return local;
}

Status check_split(const ModelFacts& model, int tp, int ep) {
  if (ep < 1 || ep > model.experts) {
    return fail(ErrorCode::invalid_argument, fmt::format("ep {} of {} experts", ep, model.experts),
                fmt::format("use 1 to {}", model.experts));
  }
  if (tp < 1 || model.intermediate % (16 * tp) != 0) {
    return fail(ErrorCode::invalid_argument, fmt::format("tp {} cuts I {} inside a 16-block", tp, model.intermediate),
                "use a degree that leaves every rank a multiple of 16");
  }
  return {};
}

}  // namespace tilewright::tune
