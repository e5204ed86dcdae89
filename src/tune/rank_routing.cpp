#include "tune/rank_routing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tilewright/layer_bench.hpp"
#include "tune/popular_experts.hpp"

namespace tilewright::tune {
namespace {

/// The expert of each popularity rank when they are dealt to ranks of `local` experts: the i-th of the first rank is
/// number i * ranks, as expected_rows() has it. What is left over when the first rank is full follows in order.
std::vector<std::int32_t> dealt_experts(int experts, int local) {
  const int ranks = std::max(1, experts / local);
  std::vector<std::int32_t> dealt(static_cast<std::size_t>(experts), -1);
  for (int i = 0; i < local; ++i) dealt[static_cast<std::size_t>(std::min(i * ranks, experts - 1))] = i;
  std::int32_t next = local;
  for (std::int32_t& expert : dealt) {
    if (expert < 0) expert = next++;
  }
  return dealt;
}

}  // namespace

Result<RoutedTokens> rank_routing(const LayerProblem& layer, int local_experts, int round) {
  const int tokens = static_cast<int>(layer.tokens);
  const int top_k = layer.model.routing.top_k;
  const int experts = layer.model.experts;
  if (!layer.counts.empty()) {
    return fail(ErrorCode::unsupported, "rows that are given expert by expert have no routing", "give a distribution");
  }
  switch (layer.rows.distribution) {
    case RowDistribution::uniform_random: return spread_tokens(TokenSpread::uniform, tokens, top_k, experts, round);
    case RowDistribution::balanced: return spread_tokens(TokenSpread::balanced, tokens, top_k, experts, round);
    case RowDistribution::power_law: break;
  }
  if (layer.rows.alpha != RowModel{}.alpha) {
    return fail(ErrorCode::unsupported,
                fmt::format("tokens are drawn by a power law of {}, not {}", RowModel{}.alpha, layer.rows.alpha),
                fmt::format("use {}", RowModel{}.alpha));
  }
  RoutedTokens routed = spread_tokens(TokenSpread::skewed, tokens, top_k, experts, round);
  const std::vector<std::int32_t> popularity = popularity_of_experts(experts);
  const std::vector<std::int32_t> dealt = dealt_experts(experts, local_experts);
  for (std::int32_t& id : routed.ids) {
    id = dealt[static_cast<std::size_t>(popularity[static_cast<std::size_t>(id)])];
  }
  return routed;
}

}  // namespace tilewright::tune
