#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>

#include "tilewright/layer_bench.hpp"
#include "tilewright/problem.hpp"

namespace tilewright {
namespace {

constexpr TokenSpread kSpreads[] = {TokenSpread::balanced, TokenSpread::uniform, TokenSpread::skewed,
                                    TokenSpread::single};

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
  for (const TokenSpread spread : kSpreads) {
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

std::vector<std::int64_t> rows_of(const RoutedTokens& routed, int experts) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(experts));
  for (const int id : routed.ids) ++rows[static_cast<std::size_t>(id)];
  return rows;
}

TEST(TokenSpread, SkewedGivesTheRowsThatThePlannersPowerLawExpects) {
  constexpr int kTokens = 20000;
  for (const auto& [experts, top_k] : {std::pair{128, 8}, {32, 8}, {256, 8}, {60, 4}, {5, 4}}) {
    auto rows = rows_of(spread_tokens(TokenSpread::skewed, kTokens, top_k, experts, 1), experts);
    EXPECT_EQ(*std::max_element(rows.begin(), rows.end()), rows[0]) << "expert 0 is the most popular";
    std::sort(rows.begin(), rows.end(), std::greater<>());
    const auto expected = expected_rows(kTokens, top_k, experts, experts, {RowDistribution::power_law, 1.2});
    ASSERT_TRUE(expected);
    std::size_t next = 0;
    for (const RowsHistogram::Bin& bin : expected->bins) {
      for (std::int64_t i = 0; i < bin.experts; ++i) {
        const auto mean = static_cast<double>(bin.rows);
        EXPECT_NEAR(static_cast<double>(rows[next++]), mean, 5.0 * std::sqrt(mean) + 2.0) << experts << " " << top_k;
      }
    }
  }
}

TEST(TokenSpread, SkewedPutsItsPopularExpertsOnEveryRank) {
  const auto rows = rows_of(spread_tokens(TokenSpread::skewed, 5000, 8, 256, 0), 256);
  for (int rank = 0; rank < 8; ++rank) {
    const std::int64_t of_rank =
        std::accumulate(rows.begin() + 32 * rank, rows.begin() + 32 * (rank + 1), std::int64_t{0});
    EXPECT_GT(of_rank, 5000 * 8 / 8 / 4) << rank;  // in equal runs of popularity, the last had 2 % of the rows
  }
}

TEST(TokenSpread, SingleGivesEveryTokenTheSameExperts) {
  for (const auto& [experts, top_k] : {std::pair{128, 8}, {60, 7}, {1, 1}}) {
    for (int round = 0; round < 20; ++round) {
      const auto rows = rows_of(spread_tokens(TokenSpread::single, 9, top_k, experts, round), experts);
      EXPECT_EQ(std::count(rows.begin(), rows.end(), 9), top_k);
      EXPECT_EQ(std::count(rows.begin(), rows.end(), 0), experts - top_k);
    }
  }
}

TEST(TokenSpread, IsFoundByTheNameThatItPrints) {
  for (const TokenSpread spread : kSpreads) EXPECT_EQ(*parse_token_spread(to_string(spread)), spread);
  EXPECT_EQ(parse_token_spread("odd").error().code, ErrorCode::invalid_argument);
}

TEST(TokenSpread, MovesToOtherExpertsEachRound) {
  for (const TokenSpread spread : kSpreads) {
    EXPECT_NE(spread_tokens(spread, 1, 8, 128, 0).ids, spread_tokens(spread, 1, 8, 128, 1).ids);
    EXPECT_EQ(spread_tokens(spread, 1, 8, 128, 4).ids, spread_tokens(spread, 1, 8, 128, 4).ids);
  }
}

}  // namespace
}  // namespace tilewright
