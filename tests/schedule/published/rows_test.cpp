// The rows of the rank that was timed.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "tilewright/published.hpp"

namespace tilewright {
namespace {

PublishedLayer routing(std::int64_t tokens, int top_k, int experts, int ep, double alpha) {
  PublishedLayer layer;
  layer.tokens = tokens;
  layer.top_k = top_k;
  layer.experts = experts;
  layer.ep = ep;
  layer.alpha = alpha;
  return layer;
}

TEST(PublishedRows, BalancedTokensWalkTheExpertsWithAStride) {
  // 256 / 8: a stride of 32. One token takes 0, 32, ..., 224; of eight ranks the first has expert 0.
  const auto one = published_rows(routing(1, 8, 256, 8, 0.0));
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].total(), 1);
  EXPECT_EQ(one[0].experts(), 32);
  // 16 tokens are spread over the stride: experts 0, 2, ..., 30 of the first rank.
  EXPECT_EQ(published_rows(routing(16, 8, 256, 8, 0.0))[0].active(), 16);
  // From 32 tokens on every expert has the same rows.
  const auto many = published_rows(routing(1024, 8, 256, 8, 0.0))[0];
  EXPECT_EQ(many.active(), 32);
  EXPECT_EQ(many.max(), 32);
  EXPECT_EQ(many.total(), 1024);
  // With ep 64 a rank has experts 0 to 3, and of 48 tokens those with t mod 32 in 0 .. 3.
  EXPECT_EQ(published_rows(routing(48, 8, 256, 64, 0.0))[0].total(), 8);
}

TEST(PublishedRows, BalancedStridesThatDoNotDivideWrapAround) {
  // 512 / 22: a stride of 24, so the last choice of the later tokens wraps to the first experts.
  const auto rows = published_rows(routing(512, 22, 512, 1, 0.0))[0];
  EXPECT_EQ(rows.total(), 512 * 22);
  EXPECT_EQ(rows.max(), 22);
  EXPECT_EQ(rows.active(), 512);
}

TEST(PublishedRows, PowerLawDrawsPlaceEveryChoiceAndNoExpertHasMoreThanAllTokens) {
  EXPECT_TRUE(rc::check("all choices of all tokens on one rank", [] {
    const int experts = *rc::gen::element(8, 16, 128, 256, 512);
    const int top_k = *rc::gen::inRange(1, std::min(experts, 23));
    const auto tokens = *rc::gen::inRange<std::int64_t>(1, 4097);
    for (const RowsHistogram& rows : published_rows(routing(tokens, top_k, experts, 1, 1.2))) {
      RC_ASSERT(rows.experts() == experts);
      RC_ASSERT(rows.total() == tokens * top_k);
      RC_ASSERT(rows.max() <= tokens);
      RC_ASSERT(rows.bins.back().rows >= 0);
    }
  }));
}

TEST(PublishedRows, PowerLawTimesTheRankWithTheMostRows) {
  for (const int ep : {2, 8, 64}) {
    for (const RowsHistogram& rows : published_rows(routing(4096, 8, 256, ep, 1.2))) {
      EXPECT_EQ(rows.experts(), 256 / ep);
      EXPECT_GE(rows.total(), 4096 * 8 / ep);
    }
  }
}

TEST(PublishedRows, TheSameLayerAlwaysHasTheSameDraws) {
  const auto first = published_rows(routing(96, 8, 256, 4, 1.2));
  const auto second = published_rows(routing(96, 8, 256, 4, 1.2));
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].total(), second[i].total());
    EXPECT_EQ(first[i].max(), second[i].max());
  }
  EXPECT_NE(first[0].total(), first[1].total());
}

}  // namespace
}  // namespace tilewright
