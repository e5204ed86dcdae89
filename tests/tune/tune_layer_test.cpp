#include "tune/tune_layer.hpp"

#include <gtest/gtest.h>

#include "tilewright/model.hpp"
#include "tune/simulated_bench.hpp"

namespace tilewright::tune {
namespace {

class TuneLayerTest : public testing::Test {
 protected:
  TuneLayerTest() {
    layer_.model = find_model("glm-5").value();
    layer_.ep = 8;
    options_.tokens = {1, 64, 4096};
    options_.race.seconds = [this] { return bench_.seconds; };
  }

  Result<LayerTuning> tune() {
    return tune_layer(device_, layer_, here(), options_, bench_, [this](TuningEntry entry) -> Status {
      cache_.add(std::move(entry));
      ++kept_;
      return {};
    });
  }

  Device device_ = find_device("h200").value();
  LayerProblem layer_;
  TuneOptions options_;
  SimulatedBench bench_;
  TuningCache cache_;
  int kept_ = 0;
};

TEST_F(TuneLayerTest, MeasuresBothGemmsOfEveryTokenCount) {
  const auto tuning = tune();
  ASSERT_TRUE(tuning) << tuning.error().message();
  EXPECT_EQ(tuning->gemms.size(), 6U);
  EXPECT_EQ(kept_, 6);
  EXPECT_EQ(tuning->end, TuneEnd::complete);
  EXPECT_TRUE(tuning->errors().empty());
  EXPECT_EQ(tuned_rungs(cache_, here(), layer_, Arch::sm_90).size(), 3U);
  for (const TunedGemm& gemm : tuning->gemms) {
    ASSERT_NE(gemm.chosen(), nullptr);
    ASSERT_NE(gemm.by_default(), nullptr);
    EXPECT_LE(gemm.chosen()->us, gemm.by_default()->us);
    EXPECT_EQ(cache_.find(here(), gemm.problem)->schedule, gemm.chosen()->schedule);
  }
}

TEST_F(TuneLayerTest, PlansWithTheCacheWhatItMeasured) {
  bench_.fastest_rank = 2;
  ASSERT_TRUE(tune());
  layer_.tokens = 64;
  Plan plan = tilewright::plan(device_, layer_).value();
  const Schedule third = plan.plans[0].ranked[2].schedule;
  use_tuning_cache(plan, cache_, here());
  EXPECT_EQ(plan.plans[0].chosen()->schedule, third);
}

TEST_F(TuneLayerTest, KeepsToTheBudgetOfAllProblems) {
  bench_.seconds_a_sample = 0.05;
  bench_.noise = 0.05;
  options_.budget_s = 3.0;
  const auto tuning = tune();
  ASSERT_TRUE(tuning);
  EXPECT_LE(tuning->seconds, 3.0 + 0.1);
  EXPECT_EQ(tuning->gemms.size(), 6U) << "a problem takes no more than twice its share";
  options_.budget_s = 0.3;
  const auto short_run = tune();
  ASSERT_TRUE(short_run);
  EXPECT_EQ(short_run->end, TuneEnd::budget);
  EXPECT_LT(short_run->gemms.size(), 6U);
  EXPECT_EQ(short_run->problems, 6);
}

TEST_F(TuneLayerTest, KeepsWhatWasMeasuredBeforeAStop) {
  options_.race.stopped = [this] { return bench_.samples >= 30; };
  const auto tuning = tune();
  ASSERT_TRUE(tuning);
  EXPECT_EQ(tuning->end, TuneEnd::stopped);
  EXPECT_GE(kept_, 1);
  EXPECT_EQ(kept_, static_cast<int>(tuning->gemms.size()));
  EXPECT_LT(kept_, 6);
  EXPECT_TRUE(cache_.find(here(), tuning->gemms.front().problem));
}

TEST_F(TuneLayerTest, EstimatesWhatIsLeft) {
  bench_.seconds_a_sample = 0.001;
  std::vector<TuneProgress> seen;
  options_.progress = [&](const TuneProgress& progress) { seen.push_back(progress); };
  ASSERT_TRUE(tune());
  ASSERT_EQ(seen.size(), 6U);
  EXPECT_EQ(seen[0].left_s, options_.budget_s) << "nothing is known yet but the budget";
  EXPECT_EQ(seen[3].done, 3);
  EXPECT_EQ(seen[3].total, 6);
  EXPECT_NEAR(seen[3].left_s, seen[3].elapsed_s, 1e-9) << "three of six are done";
  EXPECT_EQ(seen[3].doing, "gemm2, 64 tokens");
}

TEST_F(TuneLayerTest, NamesWhatFailedAndGoesOn) {
  bench_.wrong_rank = 1;
  const auto tuning = tune();
  ASSERT_TRUE(tuning);
  const auto errors = tuning->errors();
  ASSERT_EQ(errors.size(), 6U);
  EXPECT_EQ(errors[0].find("gemm1, 1 tokens: 256x"), 0U) << errors[0];
  EXPECT_EQ(tuning->end, TuneEnd::complete);
  for (const TunedGemm& gemm : tuning->gemms) EXPECT_NE(gemm.chosen(), &gemm.race.trials[1]);
}

TEST_F(TuneLayerTest, NeverRunsWhatIsBanned) {
  bench_.fastest_rank = 1;
  options_.tokens = {64};
  layer_.tokens = 64;
  const Schedule banned = tilewright::plan(device_, layer_)->plans[0].ranked[1].schedule;
  options_.bans = {{"NVIDIA H200", {{banned.tile_m, banned.tile_n, banned.tile_k, 0}, banned.split.kind, {}, {}}}};
  const auto tuning = tune();
  ASSERT_TRUE(tuning);
  for (const Trial& trial : tuning->gemms[0].race.trials) EXPECT_NE(trial.schedule, banned);
  EXPECT_EQ(tuning->gemms[0].race.trials[1].rank, 2) << "its place among all stays";
  options_.bans.front().device = "NVIDIA H100 80GB HBM3";
  EXPECT_EQ(tune()->gemms[0].chosen()->schedule, banned);
}

TEST_F(TuneLayerTest, PinsWhatItIsToldTo) {
  options_.tokens = {64};
  layer_.tokens = 64;
  const Schedule pinned = tilewright::plan(device_, layer_)->plans[0].ranked[3].schedule;
  options_.pin = SchedulePattern{{pinned.tile_m, pinned.tile_n, pinned.tile_k, 0}, pinned.split.kind, {}, {}};
  const auto tuning = tune();
  ASSERT_TRUE(tuning);
  EXPECT_TRUE(options_.pin->matches(tuning->gemms[0].chosen()->schedule));
  EXPECT_TRUE(cache_.find(here(), tuning->gemms[0].problem)->pinned);
}

TEST_F(TuneLayerTest, PinsTheGemmsThatHaveSuchASchedule) {
  options_.tokens = {64};
  options_.pin = parse_schedule_pattern("256x24x256/gather").value();  // GEMM2 gathers nothing
  const auto tuning = tune();
  ASSERT_TRUE(tuning);
  EXPECT_TRUE(tuning->gemms[0].pin);
  EXPECT_FALSE(tuning->gemms[1].pin);
  options_.pin = parse_schedule_pattern("64x24x256").value();
  EXPECT_EQ(tune().error().code, ErrorCode::invalid_argument);
}

TEST_F(TuneLayerTest, HandsOnWhatTheBenchRefuses) {
  bench_.most_loads = 0;
  const auto tuning = tune();
  ASSERT_FALSE(tuning);
  EXPECT_EQ(tuning.error().code, ErrorCode::exhausted);
}

}  // namespace
}  // namespace tilewright::tune
