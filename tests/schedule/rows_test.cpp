// Rows of each expert: counted, and expected from how tokens choose.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "tilewright/problem.hpp"

namespace tilewright {
namespace {

RowsHistogram expect_rows(std::int64_t tokens, int top_k, int experts, int local, RowModel model = {}) {
  auto rows = expected_rows(tokens, top_k, experts, local, model);
  EXPECT_TRUE(rows) << rows.error().message();
  return rows ? *rows : RowsHistogram{};
}

TEST(Rows, KeepTheHistogramOfTheCountsGiven) {
  const auto rows = rows_from_counts({3, 0, 7, 3, 0});
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->bins.size(), 3U);
  EXPECT_EQ(rows->bins[0].rows, 7);
  EXPECT_EQ(rows->bins[1].experts, 2);
  EXPECT_EQ(rows->experts(), 5);
  EXPECT_EQ(rows->active(), 3);
  EXPECT_EQ(rows->total(), 13);
  EXPECT_EQ(rows->max(), 7);
  EXPECT_DOUBLE_EQ(rows->mean_active(), 13.0 / 3.0);
}

TEST(Rows, RefuseCountsThatAreNone) {
  EXPECT_FALSE(rows_from_counts({}));
  const auto negative = rows_from_counts({4, -1});
  ASSERT_FALSE(negative);
  EXPECT_NE(negative.error().message().find("expert 1 has -1 rows"), std::string::npos);
  EXPECT_FALSE(rows_from_counts({std::int64_t{1} << 36, 1}));
}

TEST(Rows, OfRandomRoutingActivateAsManyExpertsAsTheFormulaSays) {
  // E_local (1 - (1 - k / E)^T): hardware tables for GLM-5, 256 experts, top-8.
  for (const int local : {256, 32}) {
    for (const std::int64_t tokens : {1, 2, 4, 8, 16, 32, 64, 128, 256, 512}) {
      const double formula = local * (1.0 - std::pow(1.0 - 8.0 / 256.0, static_cast<double>(tokens)));
      const RowsHistogram rows = expect_rows(tokens, 8, 256, local);
      EXPECT_NEAR(static_cast<double>(rows.active()), formula, 1.0) << tokens << " tokens, " << local << " local";
      EXPECT_EQ(rows.total(), tokens * 8 * local / 256) << tokens << " tokens, " << local << " local";
    }
  }
}

TEST(Rows, OfRandomRoutingSpreadLikeABinomial) {
  // 512 tokens, p = 1/32: mean 16, standard deviation 3.94; of 256 experts the extremes lie within 3.5 of them.
  const RowsHistogram rows = expect_rows(512, 8, 256, 256);
  double variance = 0;
  for (const auto& bin : rows.bins) {
    const double deviation = static_cast<double>(bin.rows) - 16.0;
    variance += static_cast<double>(bin.experts) * deviation * deviation / 256.0;
  }
  EXPECT_NEAR(std::sqrt(variance), std::sqrt(512.0 / 32.0 * 31.0 / 32.0), 0.2);
  EXPECT_LT(static_cast<double>(rows.max()), 16.0 + 3.5 * 3.94);
}

TEST(Rows, OfBalancedRoutingDifferByOneAtMost) {
  RowModel balanced{RowDistribution::balanced, 0.0};
  const RowsHistogram few = expect_rows(16, 8, 256, 32, balanced);
  EXPECT_EQ(few.active(), 16);  // min(E_local, rows)
  EXPECT_EQ(few.max(), 1);
  const RowsHistogram many = expect_rows(100, 8, 256, 32, balanced);
  EXPECT_EQ(many.total(), 100);
  EXPECT_EQ(many.bins.front().rows - many.bins.back().rows, 1);
}

TEST(Rows, OfAPowerLawNeverGiveAnExpertATokenTwice) {
  for (const double alpha : {0.0, 0.5, 1.2, 3.0, 16.0}) {
    RowModel model{RowDistribution::power_law, alpha};
    const RowsHistogram rows = expect_rows(1000, 8, 256, 256, model);
    EXPECT_LE(rows.max(), 1000) << alpha;
    // 8,000 rows, each expert rounded by half a row at most.
    EXPECT_NEAR(static_cast<double>(rows.total()), 8000.0, 128.0) << alpha;
  }
}

TEST(Rows, OfAPowerLawAreThoseOfTheBusiestRank) {
  const RowsHistogram skewed = expect_rows(16384, 8, 256, 32, {RowDistribution::power_law, 1.2});
  const RowsHistogram even = expect_rows(16384, 8, 256, 32, {RowDistribution::power_law, 0.0});
  EXPECT_EQ(even.total(), 16384);
  EXPECT_GT(skewed.total(), even.total());
  EXPECT_GT(skewed.max(), 8 * even.max());
}

TEST(Rows, CountTokensOverTheExpertsOfAllRanks) {
  // One of 8 ranks: 512 tokens with top-8 of 256 make 4,096 rows, 512 of them here.
  EXPECT_EQ(expect_rows(512, 8, 256, 32).total(), 512);
  EXPECT_EQ(expect_rows(512, 8, 256, 256).total(), 4096);
  // A rank with less than half a row expected is planned for one.
  EXPECT_EQ(expect_rows(1, 1, 256, 8).total(), 1);
}

TEST(Rows, RefuseImpossibleRouting) {
  EXPECT_FALSE(expected_rows(0, 8, 256, 32));
  EXPECT_FALSE(expected_rows(1, 9, 8, 8));
  EXPECT_FALSE(expected_rows(1, 0, 8, 8));
  EXPECT_FALSE(expected_rows(1, 1, 8, 9));
  EXPECT_FALSE(expected_rows(1, 1, 8, 8, {RowDistribution::power_law, -1.0}));
  EXPECT_FALSE(expected_rows(1, 1, 8, 8, {RowDistribution::power_law, std::nan("")}));
}

TEST(Rows, OfRandomRoutingAreWholeForAnySize) {
  EXPECT_TRUE(rc::check(
      "rows are within 0..tokens, sum to tokens * k * local / experts, and every local expert is counted", [] {
        const int experts = *rc::gen::inRange(1, 600);
        const int top_k = *rc::gen::inRange(1, std::min(experts, 22) + 1);
        const int local = *rc::gen::inRange(1, experts + 1);
        const std::int64_t tokens = *rc::gen::inRange(1, 20000);
        const auto rows = expected_rows(tokens, top_k, experts, local);
        RC_ASSERT(rows.has_value());
        RC_ASSERT(rows->experts() == local);
        const double exact = static_cast<double>(tokens) * top_k * local / experts;
        RC_ASSERT(rows->total() == std::max<std::int64_t>(1, static_cast<std::int64_t>(exact + 0.5)));
        RC_ASSERT(rows->max() <= tokens);
      }));
}

}  // namespace
}  // namespace tilewright
