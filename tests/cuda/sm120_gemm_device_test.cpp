// SM120's kernels on an SM90 GPU, those of w4a4 with the MMA emulated: the same ring, layouts, walk and epilogues under
// SM120's 101,376 bytes. Without such a GPU every test is skipped and says why.
#include <gtest/gtest.h>

#include <map>

#include "cuda/device.hpp"
#include "cuda/sm120_case.hpp"

namespace tilewright::cuda {
namespace {

using sm120::BuiltGemm;
using sm120::MmaPolicy;

class Sm120OnSm90 : public testing::Test {
 protected:
  void SetUp() override {
    const auto gpu = current_sm90();
    if (!gpu) GTEST_SKIP() << gpu.error().message();
  }
};

/// Every schedule that the kernel takes: each depth of the ring, and the deepest with K dealt evenly.
std::vector<Schedule> schedules_of(const BuiltGemm& gemm, bool deepest_alone) {
  std::vector<Schedule> all;
  Schedule s = gemm.deepest;
  for (s.stages = deepest_alone ? s.stages : 2; s.stages <= gemm.deepest.stages; ++s.stages) all.push_back(s);
  s = gemm.deepest;
  s.split.kind = SplitKind::stream_k;
  if (takes(gemm, s)) all.push_back(s);
  return all;
}

void expect_exact(const BuiltGemm& gemm, const Schedule& schedule, const Sm120Case& test, int repeats = 1) {
  const Sm120Outcome outcome = run_case(gemm, schedule, test, repeats);
  const std::string what = describe(schedule) + ", N " + std::to_string(test.n) + ", K " + std::to_string(test.k);
  EXPECT_LE(outcome.worst, 1.0) << what << ": " << outcome.where;
  EXPECT_EQ(outcome.unwritten, 0U) << what;
  EXPECT_EQ(outcome.wrong_blocks, 0U) << what << " of " << outcome.blocks;
  EXPECT_LE(outcome.other_blocks, outcome.blocks / 10) << what << " of " << outcome.blocks;
  EXPECT_EQ(outcome.dirty_padding, 0U) << what;
  EXPECT_TRUE(outcome.flags_clear) << what;
}

template <typename Visit>
void for_each_emulated(const Visit& visit) {
  for (const BuiltGemm& gemm : sm120::built_gemms()) {
    if (gemm.policy == MmaPolicy::emulated) visit(gemm);
  }
}

TEST_F(Sm120OnSm90, RoundsNothingButTheResultWithEveryScheduleOfTheCatalogue) {
  for_each_emulated([](const BuiltGemm& gemm) {
    for (const Schedule& schedule : schedules_of(gemm, false)) {
      expect_exact(gemm, schedule, {288, 1392, {gemm.deepest.tile_n + 1, 0, 5}, 7});
    }
  });
}

TEST_F(Sm120OnSm90, RoundsNothingButTheResultWhateverTheShape) {
  for_each_emulated([](const BuiltGemm& gemm) {
    const int n = gemm.deepest.tile_n;
    for (const Schedule& schedule : schedules_of(gemm, true)) {
      expect_exact(gemm, schedule, {256, 1024, {n, 0, 3, 1}});
      expect_exact(gemm, schedule, {352, 352, {n - 1, n + 1, 2 * n + 3}});
      expect_exact(gemm, schedule, {160, 80, {5, 0}});
      expect_exact(gemm, schedule, {704, 2880, {1, 2, 3, n, 0}});
      expect_exact(gemm, schedule, {768, 1856, {7, 3, 0, 0, 20, 1, 300, 2}});
      expect_exact(gemm, schedule, {512, 16, {4, 4}});
      expect_exact(gemm, schedule, {1536, 2048, {n - 3, 2 * n + 1}, 31});
      expect_exact(gemm, schedule, {32, 64, std::vector<int>(513, 1)});
      expect_exact(gemm, schedule, {96, 96, {0, 0, 0}});
    }
  });
}

TEST_F(Sm120OnSm90, GivesTheSameBitsWithEveryTileAndDepth) {
  const Sm120Case test{352, 1856, {9, 70, 1}, 5};
  std::map<std::pair<Precision, Epilogue>, std::vector<std::uint8_t>> first;
  for_each_emulated([&](const BuiltGemm& gemm) {
    for (const Schedule& schedule : schedules_of(gemm, false)) {
      if (schedule.split.kind != SplitKind::none) continue;
      auto y = run_case(gemm, schedule, test).y;
      const auto [at, added] = first.emplace(std::pair(schedule.precision, schedule.epilogue), y);
      EXPECT_EQ(at->second, y) << describe(schedule);
    }
  });
}

// Many tiles a block, and many times round the ring for each: groups of pingpong consumers come back to stages that the
// other group has used meanwhile.
TEST_F(Sm120OnSm90, KeepsPingpongGroupsApartOverManyTiles) {
  for_each_emulated([](const BuiltGemm& gemm) {
    if (gemm.deepest.epilogue != Epilogue::bf16) return;
    for (const Schedule& schedule : schedules_of(gemm, true)) {
      expect_exact(gemm, schedule, {1536, 3072, {gemm.deepest.tile_n, 2 * gemm.deepest.tile_n}, 3}, 3);
    }
  });
}

TEST_F(Sm120OnSm90, GivesTheSameBitsInAHundredRuns) {
  for_each_emulated([](const BuiltGemm& gemm) {
    if (gemm.deepest.epilogue != Epilogue::finalize) return;
    for (const Schedule& schedule : schedules_of(gemm, true)) {
      expect_exact(gemm, schedule, {384, 2048, {gemm.deepest.tile_n, 1, 0, 7}}, 100);
    }
  });
}

// For compute-sanitizer, which is slow: every kernel, several tiles and stages, a split tile where there are such.
TEST_F(Sm120OnSm90, LaunchesEachKernelOnce) {
  for_each_emulated([](const BuiltGemm& gemm) {
    expect_exact(gemm, schedules_of(gemm, true).back(), {288, 336, {9, 0, 17}, 3});
  });
}

void expect_built(const Sm120Tile& tile, Consumers consumers, Epilogue ending, Precision precision) {
  const int most = sm120_most_stages(tile, consumers, ending, precision);
  for (int stages = 2; stages <= most; ++stages) {
    const Schedule s = sm120_schedule(tile, consumers, stages, SplitKind::none, ending, precision);
    EXPECT_TRUE(sm120::find_gemm(s, MmaPolicy::native)) << describe(s);
    EXPECT_TRUE(sm120::find_gemm(s, MmaPolicy::emulated)) << describe(s);
  }
  const Schedule deeper = sm120_schedule(tile, consumers, most + 1, SplitKind::none, ending, precision);
  EXPECT_EQ(sm120::find_gemm(deeper, MmaPolicy::native).error().code, ErrorCode::unsupported) << describe(deeper);
}

TEST(Sm120Gemms, AreBuiltForEveryTileAndEndingThatFitsOnBothGpus) {
  std::size_t built = 0;
  for (const Precision precision : {Precision::w4a4, Precision::w4a16}) {
    for (const Sm120Tile& tile : kSm120Tiles) {
      for (const Epilogue ending : sm120_endings(precision)) {
        for (const Consumers consumers : {Consumers::cooperative, Consumers::pingpong}) {
          if (consumers == Consumers::pingpong && !tile.pingpong) continue;
          expect_built(tile, consumers, ending, precision);
          built += sm120_builds(tile, consumers, ending, precision) ? 2 : 0;
        }
      }
    }
  }
  // And the feed kernels: one a way to share a tile.
  for (const Sm120Tile& tile : kSm120Tiles) built += tile.pingpong ? 2 : 1;
  EXPECT_EQ(sm120::built_gemms().size(), built);
}

}  // namespace
}  // namespace tilewright::cuda
