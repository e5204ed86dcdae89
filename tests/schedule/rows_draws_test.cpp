// Draws of rows: what routings give, where rows are random.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "schedule/problems.hpp"
#include "tilewright/catalogue.hpp"
#include "tilewright/cost.hpp"
#include "tilewright/problem.hpp"

namespace tilewright {
namespace {

constexpr RowModel kPowerLaw{RowDistribution::power_law, 1.2};

std::vector<RowsDraw> draws(std::int64_t tokens, int top_k, int experts, int local, RowModel model = {}) {
  auto drawn = drawn_rows(tokens, top_k, experts, local, model);
  EXPECT_TRUE(drawn) << drawn.error().message();
  return drawn ? *drawn : std::vector<RowsDraw>{};
}

double mean_active(const std::vector<RowsDraw>& drawn) {
  double sum = 0;
  for (const RowsDraw& draw : drawn) sum += draw.share * static_cast<double>(draw.rows.active());
  return sum;
}

TEST(RowsDraws, ATokenNeverCountsTwiceForAnExpert) {
  for (const RowModel& model : {RowModel{}, kPowerLaw}) {
    const auto one = draws(1, 8, 256, 256, model);
    ASSERT_EQ(one.size(), 1U) << "every routing of one token is the same histogram";
    EXPECT_EQ(one[0].rows.active(), 8);
    EXPECT_EQ(one[0].rows.max(), 1);
  }
  const RowsHistogram expected = expected_rows(1, 8, 256, 256, kPowerLaw).value();
  EXPECT_EQ(expected.active(), 8) << "5 were rounded up, and 251 to no row";
  EXPECT_EQ(expected.total(), 8);
}

TEST(RowsDraws, HaveRowsAndSharesThatAddUp) {
  EXPECT_TRUE(rc::check("no expert has more rows than there are tokens, and a rank with all experts has all rows", [] {
    const int experts = *rc::gen::inRange(1, 300);
    const int top_k = *rc::gen::inRange(1, std::min(experts, 12) + 1);
    const int local = *rc::gen::element(experts, (experts + 3) / 4);
    const std::int64_t tokens = *rc::gen::inRange(1, 3000);
    const RowModel model = *rc::gen::element(RowModel{}, RowModel{kPowerLaw});
    const auto drawn = drawn_rows(tokens, top_k, experts, local, model);
    RC_ASSERT(drawn.has_value());
    RC_ASSERT(!drawn->empty());
    double shares = 0;
    for (const RowsDraw& draw : *drawn) {
      shares += draw.share;
      RC_ASSERT(draw.rows.experts() == local);
      RC_ASSERT(draw.rows.max() <= tokens);
      if (local == experts) RC_ASSERT(draw.rows.total() == tokens * top_k);
    }
    RC_ASSERT(std::abs(shares - 1.0) < 1e-9);
  }));
}

TEST(RowsDraws, ActivateAsManyExpertsAsTheFormulaSays) {
  // local (1 - (1 - k / E)^T), within a few per cent of the eight that stand for all.
  for (const int local : {256, 32}) {
    for (const std::int64_t tokens : {1, 4, 16, 32, 64, 128, 512}) {
      const double formula = local * (1.0 - std::pow(1.0 - 8.0 / 256.0, static_cast<double>(tokens)));
      EXPECT_NEAR(mean_active(draws(tokens, 8, 256, local)), formula, 0.03 * formula + 0.25) << tokens << ", " << local;
    }
  }
}

TEST(RowsDraws, OfAPowerLawActivateThePopularExpertsAlone) {
  // Expert i has a row with probability 1 - (1 - p_i)^T: 64 tokens reach 85 of 256 experts where random ones reach 222.
  const double skewed = mean_active(draws(64, 8, 256, 256, kPowerLaw));
  EXPECT_GT(skewed, 70.0);
  EXPECT_LT(skewed, 140.0);
  EXPECT_GT(mean_active(draws(64, 8, 256, 256)), 210.0);
}

TEST(RowsDraws, AreTheSameEveryTimeAndNoneWhereNothingIsRandom) {
  const auto first = draws(24, 8, 256, 32);
  const auto second = draws(24, 8, 256, 32);
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].rows.active(), second[i].rows.active());
  EXPECT_TRUE(draws(24, 8, 256, 32, {RowDistribution::balanced, 0.0}).empty());
  EXPECT_FALSE(drawn_rows(0, 8, 256, 32));
  LayerProblem given = schedule_tests::glm5(8, 8, Precision::w4a16);
  given.counts.assign(32, 3);
  EXPECT_TRUE(layer_gemms(given).value().gemm1.draws.empty()) << "rows that are given are exact";
}

// GLM-5 on one of 8 ranks, 8 tokens: 7 of 32 experts are active on average, which is 112 tiles of 256 rows and one wave
// of 132 SMs; half of the routings have more, and two. 46 us were measured on an H200.
TEST(RowsDraws, MakeTheTimeOfARandomRoutingTheMeanOfTimes) {
  const Device d = schedule_tests::device("h200");
  const GemmProblem drawn = layer_gemms(schedule_tests::glm5(8, 8, Precision::w4a16)).value().gemm1;
  GemmProblem expected = drawn;
  expected.draws.clear();
  ASSERT_EQ(expected.rows.active(), 7);
  const Schedule whole = schedule_for_tile(d, drawn, parse_tile("256x8x256:5").value());
  const double mean = predict(d, drawn, whole).predicted_us;
  EXPECT_GT(mean, 1.15 * predict(d, expected, whole).predicted_us);
  double by_hand = 0;
  for (const RowsDraw& draw : drawn.draws) {
    expected.rows = draw.rows;
    by_hand += draw.share * predict(d, expected, whole).predicted_us;
  }
  EXPECT_NEAR(mean, by_hand, 1e-9);
}

}  // namespace
}  // namespace tilewright
