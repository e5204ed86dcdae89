#include "tilewright/tuner.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "tune/tuning_fixture.hpp"

namespace tilewright::tune {
namespace {

constexpr double kNoise = 0.035;  // what published tuners have been seen to flip under

class TunerTest : public testing::Test {
 protected:
  std::vector<Candidate> candidates_ = ranked(problem());
  RaceOptions options_;

  /// Times of all candidates: those given, and hopeless ones.
  [[nodiscard]] std::vector<double> times(std::vector<double> first) const {
    first.resize(candidates_.size(), 400.0);
    return first;
  }
};

TEST_F(TunerTest, FindsTheFastestWhereTheModelIsWrong) {
  SimulatedMeasurer measurer(candidates_, times({110, 105, 100}), 0.003);
  const Race result = race(candidates_, measurer, options_);
  EXPECT_EQ(result.chosen, 2U);
  EXPECT_EQ(result.end, RaceEnd::decided);
  EXPECT_NEAR(result.trials[2].us, 100, 1);
  EXPECT_FALSE(result.failed());
}

TEST_F(TunerTest, TakesCandidatesInTheModelsOrder) {
  SimulatedMeasurer measurer(candidates_, times({100, 101, 102}));
  race(candidates_, measurer, options_);
  std::vector<std::size_t> order(candidates_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  EXPECT_EQ(measurer.checked, order);
  EXPECT_TRUE(std::equal(order.begin(), order.end(), measurer.sampled.begin()));
}

TEST_F(TunerTest, SamplesInInterleavedRounds) {
  SimulatedMeasurer measurer(candidates_, times({100, 101, 102}), kNoise);
  race(candidates_, measurer, options_);
  // After the first look at all of them, the three that are left alternate.
  const std::size_t rest = measurer.sampled.size() - measurer.sampled.size() % 3;
  for (std::size_t at = candidates_.size(); at + 3 <= rest; at += 3) {
    std::set<std::size_t> round(measurer.sampled.begin() + static_cast<std::ptrdiff_t>(at),
                                measurer.sampled.begin() + static_cast<std::ptrdiff_t>(at) + 3);
    EXPECT_EQ(round, (std::set<std::size_t>{0, 1, 2})) << at;
  }
}

// Two ranks that tune the same problem have to end with the same kernel.
TEST_F(TunerTest, TiesGoToTheModelsOrderUnderNoise) {
  int others = 0;
  constexpr int kRuns = 400;
  for (int run = 0; run < kRuns; ++run) {
    SimulatedMeasurer measurer(candidates_, times({100, 100, 100, 100, 100}), kNoise, static_cast<unsigned>(run));
    others += race(candidates_, measurer, options_).chosen == 0U ? 0 : 1;
  }
  EXPECT_LE(others, kRuns / 100);
}

TEST_F(TunerTest, ChoosesTheSameUnderNoiseWhereTheDifferenceIsClear) {
  int others = 0;
  constexpr int kRuns = 400;
  for (int run = 0; run < kRuns; ++run) {
    SimulatedMeasurer measurer(candidates_, times({112, 115, 100, 120}), kNoise, static_cast<unsigned>(run));
    others += race(candidates_, measurer, options_).chosen == 2U ? 0 : 1;
  }
  EXPECT_LE(others, kRuns / 100);
}

TEST_F(TunerTest, IsNeverSlowerThanTheDefaultOrFarFromTheFastestByMoreThanTheNoise) {
  EXPECT_TRUE(rc::check([&] {
    std::vector<double> us;
    for (std::size_t i = 0; i < candidates_.size(); ++i) us.push_back(*rc::gen::inRange(1000, 1500) / 10.0);
    const double noise = *rc::gen::inRange(1, 36) / 1000.0;
    SimulatedMeasurer measurer(candidates_, us, noise, *rc::gen::arbitrary<unsigned>());
    const Race result = race(candidates_, measurer, options_);
    RC_ASSERT(result.chosen.has_value());
    const double chosen = us[*result.chosen];
    const double slack = std::max(2 * kSameTime, 2.0 * noise);
    RC_ASSERT(chosen <= us[0] * (1 + slack));
    RC_ASSERT(chosen <= *std::min_element(us.begin(), us.end()) * (1 + slack));
  }));
}

TEST_F(TunerTest, StopsEarlyWhenTheLeaderIsClear) {
  SimulatedMeasurer clear(candidates_, times({100}), kNoise);
  const Race result = race(candidates_, clear, options_);
  EXPECT_EQ(result.end, RaceEnd::decided);
  EXPECT_LE(clear.sampled.size(), 2 * candidates_.size());
  SimulatedMeasurer close(candidates_, times({100, 101}), kNoise);
  EXPECT_EQ(race(candidates_, close, options_).rounds, options_.most_rounds);
  EXPECT_GT(close.sampled.size(), clear.sampled.size());
}

TEST_F(TunerTest, QuietMeasurementsNeedFewRounds) {
  SimulatedMeasurer measurer(candidates_, times({100, 100.4, 103}), 0.002);
  const Race result = race(candidates_, measurer, options_);
  EXPECT_EQ(result.end, RaceEnd::decided);
  EXPECT_LE(result.rounds, options_.least_rounds + 2);
  EXPECT_EQ(result.chosen, 0U);
}

TEST_F(TunerTest, AWrongCandidateIsAnErrorWithItsNameAndNeverWins) {
  SimulatedMeasurer measurer(candidates_, times({100, 50, 40}), 0.003);
  measurer.wrong = {1};
  measurer.unlaunchable = {2};
  const Race result = race(candidates_, measurer, options_);
  EXPECT_EQ(result.chosen, 0U);
  EXPECT_TRUE(result.failed());
  EXPECT_EQ(result.trials[1].error, describe(candidates_[1].schedule) + ": 3 of 100 values are wrong");
  EXPECT_EQ(result.trials[2].error, describe(candidates_[2].schedule) + ": the launch failed");
  EXPECT_EQ(measurer.samples_of(1), 0) << "what is wrong is not timed";
  EXPECT_EQ(measurer.samples_of(2), 1);
}

TEST_F(TunerTest, ADefaultThatIsWrongLosesToo) {
  SimulatedMeasurer measurer(candidates_, times({100, 120}), 0.003);
  measurer.wrong = {0};
  EXPECT_EQ(race(candidates_, measurer, options_).chosen, 1U);
}

TEST_F(TunerTest, ChoosesNothingWhereAllAreWrong) {
  SimulatedMeasurer measurer(candidates_, times({}));
  for (std::size_t i = 0; i < candidates_.size(); ++i) measurer.wrong.insert(i);
  const Race result = race(candidates_, measurer, options_);
  EXPECT_FALSE(result.chosen);
  EXPECT_TRUE(result.failed());
}

TEST_F(TunerTest, KeepsToItsBudget) {
  SimulatedMeasurer measurer(candidates_, times({100, 101, 102, 103}), kNoise);
  measurer.seconds_a_sample = 0.1;
  options_.budget_s = 2.05;
  options_.seconds = [&] { return measurer.seconds; };
  const Race result = race(candidates_, measurer, options_);
  EXPECT_EQ(result.end, RaceEnd::budget);
  EXPECT_EQ(measurer.sampled.size(), 21U);
  EXPECT_TRUE(result.chosen);
}

TEST_F(TunerTest, TrustsTheModelWhereTheBudgetAllowsOneSample) {
  SimulatedMeasurer measurer(candidates_, times({100, 90}));
  measurer.seconds_a_sample = 0.1;
  options_.budget_s = 0.15;
  options_.seconds = [&] { return measurer.seconds; };
  const Race result = race(candidates_, measurer, options_);
  EXPECT_EQ(measurer.sampled.size(), 2U);
  EXPECT_EQ(result.chosen, 0U) << "one sample of each does not tell 10 % apart";
}

TEST_F(TunerTest, KeepsWhatWasMeasuredWhenItIsStopped) {
  SimulatedMeasurer measurer(candidates_, times({100, 101, 102}), kNoise);
  options_.stopped = [&] { return measurer.sampled.size() >= 30; };
  const Race result = race(candidates_, measurer, options_);
  EXPECT_EQ(result.end, RaceEnd::stopped);
  EXPECT_EQ(measurer.sampled.size(), 30U);
  EXPECT_TRUE(result.chosen);
  options_.stopped = [] { return true; };
  EXPECT_FALSE(race(candidates_, measurer, options_).chosen) << "before the first sample";
}

TEST_F(TunerTest, OneHiccupDoesNotDropACandidate) {
  // The first sample of the first one takes twice as long as it should.
  SimulatedMeasurer measurer(candidates_, times({100, 104}), 0.003);
  measurer.hiccups = {{1, 2.0}};
  EXPECT_EQ(race(candidates_, measurer, options_).chosen, 0U);
  SimulatedMeasurer later(candidates_, times({100, 104}), 0.003);
  later.hiccups = {{candidates_.size() + 1, 3.0}};
  EXPECT_EQ(race(candidates_, later, options_).chosen, 0U);
}

TEST_F(TunerTest, HasNothingToChooseFromNothing) {
  SimulatedMeasurer measurer({}, {});
  const Race result = race({}, measurer, options_);
  EXPECT_FALSE(result.chosen);
  EXPECT_TRUE(result.trials.empty());
}

}  // namespace
}  // namespace tilewright::tune
