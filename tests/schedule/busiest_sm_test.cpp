// The SM with the most work against a walk that deals unit by unit.
#include "schedule/busiest_sm.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>

namespace tilewright::schedule {
namespace {

double cycles_of(const std::vector<WorkRun>& runs, const std::vector<std::int64_t>& units) {
  double cycles = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) cycles += static_cast<double>(units[i]) * runs[i].cycles;
  return cycles;
}

// Cycles of each SM; `sm_of` says which one takes unit `i` of `all`.
template <typename SmOf>
double walked(const std::vector<WorkRun>& runs, int sms, const SmOf& sm_of) {
  std::int64_t all = 0;
  for (const WorkRun& run : runs) all += run.units;
  std::vector<double> cycles(static_cast<std::size_t>(sms), 0.0);
  std::int64_t i = 0;
  for (const WorkRun& run : runs) {
    for (std::int64_t unit = 0; unit < run.units; ++unit, ++i) cycles[sm_of(i, all)] += run.cycles;
  }
  return *std::max_element(cycles.begin(), cycles.end());
}

std::vector<WorkRun> random_runs() {
  std::vector<WorkRun> runs;
  const int count = *rc::gen::inRange(1, 6);
  for (int i = 0; i < count; ++i) {
    runs.push_back({*rc::gen::inRange(1, 300), static_cast<double>(*rc::gen::inRange(1, 50))});
  }
  return runs;
}

TEST(BusiestSm, HasTheWorkOfAWalkThatDealsTilesInTurn) {
  EXPECT_TRUE(rc::check("counted as walked", [] {
    const auto runs = random_runs();
    const int sms = *rc::gen::inRange(1, 140);
    const double expected =
        walked(runs, sms, [&](std::int64_t i, std::int64_t /*all*/) { return static_cast<std::size_t>(i % sms); });
    RC_ASSERT(std::abs(cycles_of(runs, busiest_in_turn(runs, sms)) - expected) < 1e-9);
  }));
}

TEST(BusiestSm, HasTheWorkOfAWalkInEvenRuns) {
  EXPECT_TRUE(rc::check("counted as walked, by the rule of tile_walk.hpp", [] {
    const auto runs = random_runs();
    const int sms = *rc::gen::inRange(1, 140);
    const double expected = walked(runs, sms, [&](std::int64_t i, std::int64_t all) {
      const std::int64_t busy = std::min<std::int64_t>(all, sms);
      std::int64_t sm = 0;
      while (all * (sm + 1) / busy <= i) ++sm;
      return static_cast<std::size_t>(sm);
    });
    RC_ASSERT(std::abs(cycles_of(runs, busiest_of_even_shares(runs, sms)) - expected) < 1e-9);
  }));
}

TEST(BusiestSm, IsIdleWithoutWork) {
  EXPECT_TRUE(busiest_in_turn({}, 132).empty());
  EXPECT_TRUE(busiest_of_even_shares({}, 132).empty());
}

}  // namespace
}  // namespace tilewright::schedule
