#include "tune/regret.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tilewright/model.hpp"
#include "tune/regret_run.hpp"
#include "tune/simulated_bench.hpp"

namespace tilewright::tune {
namespace {

RegretRow row(const std::vector<double>& us, const std::vector<double>& predicted) {
  RegretRow made;
  for (std::size_t i = 0; i < us.size(); ++i)
    made.trials.push_back({{}, static_cast<int>(i), predicted[i], us[i], 3, {}});
  return made;
}

RegretSummary of(const std::vector<RegretRow>& rows) {
  std::vector<const RegretRow*> pointers;
  for (const RegretRow& each : rows) pointers.push_back(&each);
  return summarize(pointers);
}

TEST(Regret, IsTheChoiceOverTheFastest) {
  const RegretRow made = row({110, 120, 130, 100}, {99, 100, 101, 102});
  EXPECT_DOUBLE_EQ(made.regret(), 1.1);
  EXPECT_DOUBLE_EQ(made.regret(3), 1.1);
  EXPECT_DOUBLE_EQ(made.regret(4), 1.0);
  EXPECT_DOUBLE_EQ(made.regret(8), 1.0);
  EXPECT_EQ(made.fastest(), 3U);
  EXPECT_DOUBLE_EQ(made.time_error(), 99.0 / 110 - 1);
}

TEST(Regret, LeavesOutWhatFailed) {
  RegretRow made = row({100, 50, 90}, {99, 100, 101});
  made.trials[1].error = "wrong";
  EXPECT_TRUE(made.complete());
  EXPECT_EQ(made.fastest(), 2U);
  EXPECT_DOUBLE_EQ(made.regret(2), 100.0 / 90);
  made.trials[2].samples = 0;
  EXPECT_FALSE(made.complete()) << "a schedule that was not reached might be the fastest";
  made = row({100}, {99});
  made.trials[0].error = "wrong";
  EXPECT_FALSE(made.complete());
}

TEST(Regret, SumsUpAsTheFieldDoes) {
  const std::vector<RegretRow> rows = {row({100, 200}, {110, 190}), row({120, 110, 100}, {120, 121, 122}),
                                       row({100, 90}, {80, 100})};
  const RegretSummary summary = of(rows);
  EXPECT_EQ(summary.shapes, 3);
  EXPECT_NEAR(summary.regret_geomean, std::cbrt(1.0 * 1.2 * (10.0 / 9)), 1e-12);
  EXPECT_DOUBLE_EQ(summary.regret_worst, 1.2);
  EXPECT_DOUBLE_EQ(summary.regret_p95, 1.2);
  EXPECT_DOUBLE_EQ(summary.top1, 1.0 / 3);
  EXPECT_DOUBLE_EQ(summary.top3, 1.0);
  EXPECT_DOUBLE_EQ(summary.top8, 1.0);
  EXPECT_DOUBLE_EQ(summary.regret_top3, 1.0);
  EXPECT_NEAR(summary.time_mape, (0.1 + 0.0 + 0.2) / 3, 1e-12);
  EXPECT_NEAR(summary.time_p90, 0.2, 1e-12);
  EXPECT_NEAR(summary.time_bias, std::cbrt(1.1 * 1.0 * 0.8) - 1, 1e-12);
  EXPECT_EQ(summary.schedules, 7);
  EXPECT_NEAR(summary.all_mape, (0.1 + 0.05 + 0.0 + 0.1 + 0.22 + 0.2 + 1.0 / 9) / 7, 1e-12);
  EXPECT_EQ(of({}).shapes, 0);
}

TEST(RegretShapes, HaveEveryModelInOneHalfAndBothKindsOfSlices) {
  const auto shapes = regret_shapes({}, find_model);
  ASSERT_TRUE(shapes) << shapes.error().message();
  std::set<std::string> fitting;
  std::set<std::string> held;
  std::set<std::string> tp;
  std::set<std::string> ep;
  std::set<std::int64_t> tokens;
  for (const RegretShape& shape : *shapes) {
    const LayerProblem& layer = shape.layer;
    EXPECT_TRUE(layer_gemms(layer)) << layer.model.name << " tp " << layer.tp << " ep " << layer.ep;
    (shape.held_out ? held : fitting).insert(layer.model.name);
    if (layer.tp > 1) tp.insert(layer.model.name);
    if (layer.ep > 1) ep.insert(layer.model.name);
    tokens.insert(layer.tokens);
  }
  EXPECT_EQ(fitting, (std::set<std::string>{"qwen3-30b-a3b", "minimax-m2", "glm-5"}));
  EXPECT_EQ(held, (std::set<std::string>{"gpt-oss-120b", "qwen3.5-397b-a17b", "deepseek-v3"}));
  EXPECT_EQ(tp.size(), 6U);
  EXPECT_EQ(ep.size(), 6U);
  for (std::int64_t t = 1; t <= 8192; t *= 2) EXPECT_EQ(tokens.count(t), 1U) << t;
  EXPECT_EQ(tokens.count(3001), 1U);
}

TEST(RegretShapes, BeginWithSmallAndLargeCountsOfBothSpreads) {
  auto shapes = regret_shapes({}, find_model).value();
  shapes.resize(shapes.size() / 4);
  std::set<std::int64_t> tokens;
  std::set<RowDistribution> spreads;
  for (const RegretShape& shape : shapes) {
    tokens.insert(shape.layer.tokens);
    spreads.insert(shape.layer.rows.distribution);
  }
  EXPECT_LE(*tokens.begin(), 2);
  EXPECT_GE(*tokens.rbegin(), 512);
  EXPECT_EQ(spreads.size(), 2U);
}

TEST(RegretShapes, AreThoseOfTheModelsAskedFor) {
  const auto shapes = regret_shapes({"minimax-m2"}, find_model);
  ASSERT_TRUE(shapes);
  for (const RegretShape& shape : *shapes) EXPECT_EQ(shape.layer.model.name, "minimax-m2");
  const auto unknown = regret_shapes({"gpt-2"}, find_model);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message().find("qwen3.5-397b-a17b"), std::string::npos);
}

class RegretRunTest : public testing::Test {
 protected:
  RegretRunTest() {
    options_.race.seconds = [this] { return bench_.seconds; };
    shapes_ = regret_shapes({"minimax-m2"}, find_model).value();
    shapes_.resize(4);
  }

  Result<RegretRun> run() { return measure_regret(find_device("h200").value(), shapes_, options_, bench_); }

  SimulatedBench bench_;
  RegretOptions options_;
  std::vector<RegretShape> shapes_;
};

TEST_F(RegretRunTest, MeasuresEveryLegalScheduleOfEveryShape) {
  bench_.fastest_rank = 1;
  const auto result = run();
  ASSERT_TRUE(result) << result.error().message();
  ASSERT_EQ(result->rows.size(), 8U);
  EXPECT_EQ(result->problems, 8);
  for (const RegretRow& each : result->rows) {
    EXPECT_TRUE(each.complete());
    EXPECT_EQ(each.trials.size(),
              ranked(bench_.loaded[static_cast<std::size_t>(&each - result->rows.data())].problem).size());
    EXPECT_EQ(each.fastest(), 1U);
    EXPECT_GT(each.regret(), 1.5);
  }
}

TEST_F(RegretRunTest, EndsWithItsBudgetAndSaysSo) {
  bench_.seconds_a_sample = 0.1;
  options_.budget_s = 5.0;
  const auto result = run();
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->out_of_time);
  EXPECT_LT(result->rows.size(), 8U);
  EXPECT_GE(result->rows.size(), 1U);
}

TEST_F(RegretRunTest, KeepsWhatWasMeasuredBeforeAStop) {
  options_.race.stopped = [this] { return bench_.samples >= 40; };
  const auto result = run();
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->stopped);
  EXPECT_GE(result->rows.size(), 1U);
}

TEST_F(RegretRunTest, CountsWhatItLeftOut) {
  bench_.seconds_a_sample = 0.1;
  options_.budget_s = 5.0;
  const RegretRun cut = run().value();
  const auto complete =
      std::count_if(cut.rows.begin(), cut.rows.end(), [](const RegretRow& r) { return r.complete(); });
  EXPECT_GT(cut.left_out(), 0);
  EXPECT_EQ(cut.left_out() + complete, 8);
  bench_.seconds_a_sample = 0;
  EXPECT_EQ(run().value().left_out(), 0);
}

TEST_F(RegretRunTest, KeepsWhatWasMeasuredBeforeAProblemThatCannotBeLoaded) {
  bench_.most_loads = 3;
  const auto result = run();
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->rows.size(), 3U);
  EXPECT_EQ(result->left_out(), 5);
  ASSERT_EQ(result->errors().size(), 1U);
  EXPECT_EQ(result->errors()[0].find("minimax-m2, tp 4, ep 1, gemm2, 1 tokens: 8 GB are wanted"), 0U)
      << result->errors()[0];
}

TEST_F(RegretRunTest, NamesWhatFailed) {
  bench_.wrong_rank = 2;
  const auto result = run();
  ASSERT_TRUE(result);
  ASSERT_EQ(result->errors().size(), 8U);
  EXPECT_EQ(result->errors()[0].find("minimax-m2, tp 1, ep 8, gemm1, 1 tokens: "), 0U) << result->errors()[0];
}

}  // namespace
}  // namespace tilewright::tune
