#include "tune/rank_routing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "tilewright/model.hpp"

namespace tilewright::tune {
namespace {

LayerProblem layer(RowDistribution distribution, int tokens, int ep) {
  LayerProblem layer;
  layer.model = find_model("glm-5").value();
  layer.tokens = tokens;
  layer.ep = ep;
  layer.rows.distribution = distribution;
  return layer;
}

std::vector<std::int64_t> rows_of(const RoutedTokens& routed, int local) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(local));
  for (const int id : routed.ids) {
    if (id < local) ++rows[static_cast<std::size_t>(id)];
  }
  return rows;
}

TEST(RankRouting, GivesTheRowsThatThePlannerExpectsOfTheRank) {
  for (const RowDistribution distribution :
       {RowDistribution::uniform_random, RowDistribution::balanced, RowDistribution::power_law}) {
    for (const int ep : {1, 8}) {
      const LayerProblem problem = layer(distribution, 20000, ep);
      const int local = 256 / ep;
      auto rows = rows_of(rank_routing(problem, local, 1).value(), local);
      std::sort(rows.begin(), rows.end(), std::greater<>());
      std::size_t next = 0;
      const LayerGemms gemms = layer_gemms(problem).value();
      for (const auto& bin : gemms.gemm1.rows.bins) {
        for (std::int64_t i = 0; i < bin.experts; ++i) {
          const auto mean = static_cast<double>(bin.rows);
          EXPECT_NEAR(static_cast<double>(rows[next++]), mean, 5.0 * std::sqrt(mean) + 2.0)
              << to_string(distribution) << ", ep " << ep;
        }
      }
    }
  }
}

TEST(RankRouting, GivesEveryTokenDistinctExperts) {
  const RoutedTokens routed = rank_routing(layer(RowDistribution::power_law, 50, 8), 32, 3).value();
  for (int token = 0; token < 50; ++token) {
    const std::set<int> experts(routed.ids.begin() + token * 8, routed.ids.begin() + token * 8 + 8);
    EXPECT_EQ(experts.size(), 8U);
    EXPECT_GE(*experts.begin(), 0);
    EXPECT_LT(*experts.rbegin(), 256);
  }
}

TEST(RankRouting, DrawsAnewEachRound) {
  const LayerProblem problem = layer(RowDistribution::power_law, 4, 8);
  EXPECT_NE(rank_routing(problem, 32, 0)->ids, rank_routing(problem, 32, 1)->ids);
}

TEST(RankRouting, SaysWhatItCannotDraw) {
  LayerProblem problem = layer(RowDistribution::power_law, 4, 8);
  problem.rows.alpha = 0.8;
  EXPECT_EQ(rank_routing(problem, 32, 0).error().code, ErrorCode::unsupported);
  problem.counts.assign(32, 1);
  EXPECT_EQ(rank_routing(problem, 32, 0).error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace tilewright::tune
