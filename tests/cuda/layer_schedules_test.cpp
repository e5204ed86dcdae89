// The kernels that a layer takes, without a GPU.
#include "cuda/moe/layer_schedules.hpp"

#include <gtest/gtest.h>

#include "cuda/sm120/grouped_gemm.hpp"
#include "cuda/sm90/grouped_gemm.hpp"

namespace tilewright::cuda {
namespace {

GpuInfo h200() { return {"NVIDIA H200", 9, 0, 132, 232448, std::int64_t{141} << 30}; }

TEST(LayerSchedules, AreBuiltForEveryTokenCount) {
  const LayerShape shapes[] = {{32, 32, 8, 6144, 2048, true},    {128, 128, 8, 2048, 768, true},
                               {32, 256, 8, 7168, 2048, true},   {128, 128, 4, 2880, 2880, true},
                               {16, 512, 22, 1024, 2688, false}, {1, 1, 1, 16, 16, true}};
  for (const LayerShape& shape : shapes) {
    const auto ladder = ScheduleLadder::plan(h200(), shape);
    ASSERT_TRUE(ladder) << ladder.error().message();
    for (const int tokens : {1, 2, 5, 8, 31, 64, 100, 500, 3000, 8192, 100000}) {
      const LayerSchedules schedules = ladder->at(tokens);
      EXPECT_TRUE(sm90::find_gemm(schedules.gemm1)) << describe(schedules.gemm1);
      EXPECT_TRUE(sm90::find_gemm(schedules.gemm2)) << describe(schedules.gemm2);
      EXPECT_EQ(schedules.gemm1.epilogue, shape.gated ? Epilogue::gated_bf16 : Epilogue::act_bf16);
      EXPECT_EQ(schedules.gemm2.epilogue, Epilogue::finalize);
      EXPECT_EQ(schedules.gemm2.token_load, TokenLoad::tile_order) << "GEMM1 leaves its output so";
    }
  }
}

TEST(LayerSchedules, AreBuiltForSm120InBothPrecisions) {
  for (const LayerShape& shape : {LayerShape{32, 256, 8, 7168, 2048, true}, LayerShape{16, 512, 22, 1024, 2688, false},
                                  LayerShape{1, 1, 1, 16, 16, true}}) {
    for (const Precision precision : {Precision::w4a16, Precision::w4a4}) {
      const auto ladder = ScheduleLadder::plan(h200(), shape, {Arch::sm_120, precision, false});
      ASSERT_TRUE(ladder) << ladder.error().message();
      for (const int tokens : {1, 8, 64, 500, 8192}) {
        const LayerSchedules schedules = ladder->at(tokens);
        for (const Schedule& s : {schedules.gemm1, schedules.gemm2}) {
          EXPECT_EQ(s.precision, precision);
          EXPECT_TRUE(sm120::find_gemm(s, sm120::MmaPolicy::native)) << describe(s);
          EXPECT_TRUE(sm120::find_gemm(s, sm120::MmaPolicy::emulated)) << describe(s);
        }
        EXPECT_EQ(stores_nvfp4(schedules.gemm1.epilogue), precision == Precision::w4a4);
      }
    }
  }
}

TEST(LayerSchedules, GrowWithTheRowsOfAnExpert) {
  const auto ladder = ScheduleLadder::plan(h200(), {32, 32, 8, 6144, 2048, true});
  ASSERT_TRUE(ladder);
  int before = 0;
  for (const int tokens : {1, 16, 64, 128, 2048}) {
    const int tile_n = ladder->at(tokens).gemm1.tile_n;
    EXPECT_GE(tile_n, before) << tokens;
    before = tile_n;
  }
  EXPECT_GE(before, 112);
}

TEST(LayerSchedules, AreReplacedWhereOthersAreGiven) {
  auto ladder = ScheduleLadder::plan(h200(), {32, 32, 8, 6144, 2048, true});
  ASSERT_TRUE(ladder);
  const LayerSchedules planned = ladder->at(64);
  LayerSchedules given = planned;
  given.gemm1 = sm90_schedule(kSm90Tiles[0], Epilogue::gated_bf16);
  ladder->use({64, given});
  EXPECT_EQ(ladder->at(64), given);
  EXPECT_EQ(ladder->at(60), given) << "of the rung that is not below";
  EXPECT_NE(ladder->at(65), given);
  ladder->use({20, given});
  EXPECT_EQ(ladder->at(17), given) << "a rung of its own";
  EXPECT_NE(ladder->at(16), given);
  EXPECT_EQ(ladder->at(1000000), ladder->at(16384));
}

TEST(LayerSchedules, OfAnyGpuThatTheKernelsRunOnAreFound) {
  GpuInfo gpu = h200();
  gpu.name = "NVIDIA H100 PCIe";
  gpu.sm_count = 114;
  EXPECT_TRUE(ScheduleLadder::plan(gpu, {32, 32, 8, 6144, 2048, true}));
}

}  // namespace
}  // namespace tilewright::cuda
