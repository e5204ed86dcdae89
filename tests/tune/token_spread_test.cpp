#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tilewright/layer_bench.hpp"

namespace tilewright {
namespace {

void expect_distinct_experts(const RoutedTokens& routed, int experts) {
  for (int token = 0; token < routed.tokens; ++token) {
    std::set<int> seen;
    for (int slot = 0; slot < routed.top_k; ++slot) seen.insert(routed.ids[token * routed.top_k + slot]);
    EXPECT_EQ(static_cast<int>(seen.size()), routed.top_k) << "token " << token;
    EXPECT_GE(*seen.begin(), 0);
    EXPECT_LT(*seen.rbegin(), experts);
  }
}

TEST(TokenSpread, GivesEveryTokenDistinctExperts) {
  for (const TokenSpread spread : {TokenSpread::balanced, TokenSpread::uniform}) {
    for (const auto& [experts, top_k] : {std::pair{128, 8}, {60, 4}, {512, 22}, {3, 2}, {1, 1}}) {
      expect_distinct_experts(spread_tokens(spread, 9, top_k, experts, 3), experts);
    }
  }
}

TEST(TokenSpread, BalancedRowsOfAnExpertDifferByOneAtMost) {
  for (const auto& [experts, top_k] : {std::pair{128, 8}, {60, 7}, {512, 22}}) {
    const RoutedTokens routed = spread_tokens(TokenSpread::balanced, 100, top_k, experts, 5);
    std::vector<int> rows(static_cast<std::size_t>(experts));
    for (const int id : routed.ids) ++rows[static_cast<std::size_t>(id)];
    EXPECT_LE(*std::max_element(rows.begin(), rows.end()) - *std::min_element(rows.begin(), rows.end()), 1);
  }
}

TEST(TokenSpread, BalancedGivesARankOfEqualRunsOneRowAToken) {
  const RoutedTokens routed = spread_tokens(TokenSpread::balanced, 5, 8, 256, 2);
  EXPECT_EQ(std::count_if(routed.ids.begin(), routed.ids.end(), [](int id) { return id < 32; }), 5);
}

TEST(TokenSpread, MovesToOtherExpertsEachRound) {
  for (const TokenSpread spread : {TokenSpread::balanced, TokenSpread::uniform}) {
    EXPECT_NE(spread_tokens(spread, 1, 8, 128, 0).ids, spread_tokens(spread, 1, 8, 128, 1).ids);
    EXPECT_EQ(spread_tokens(spread, 1, 8, 128, 4).ids, spread_tokens(spread, 1, 8, 128, 4).ids);
  }
}

}  // namespace
}  // namespace tilewright
