// SM120's w4a16 kernels as the planner sees them: the tiles of which two stages fit with tokens in bf16.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "schedule/problems.hpp"
#include "tilewright/catalogue.hpp"
#include "tilewright/rejection.hpp"
#include "tilewright/sm120_catalogue.hpp"

namespace tilewright {
namespace {

using schedule_tests::device;

GemmProblem ending_in(Epilogue epilogue) {
  return grouped_gemm(32, 16, 4096, 6144, Precision::w4a16, epilogue).value();
}

int most_stages(const TileSpec& wanted, Consumers consumers, Epilogue ending) {
  for (const Sm120Tile& tile : kSm120Tiles) {
    if (tile.m == wanted.m && tile.n == wanted.n && tile.k == wanted.k) {
      return sm120_most_stages(tile, consumers, ending, Precision::w4a16);
    }
  }
  return 0;
}

struct Depth {
  const char* tile;
  Consumers consumers;
  Epilogue ending;
  int stages;  // 1: there is no such kernel
};

// A stage is 128 * K * 9 / 16 B of weights and 2 * N * K of tokens. 128 x 128 x 128: two of 41,984 B, and 8,704 of
// staging, or twice that for pingpong groups, which leaves 112 B too few; gated, a group stages half as much.
TEST(Sm120W4a16, HasTheTilesOfWhichTwoStagesFitWorkedOutByHand) {
  constexpr auto kCooperative = Consumers::cooperative;
  constexpr auto kPingpong = Consumers::pingpong;
  for (const Depth& depth : {
           Depth{"128x8x128", kCooperative, Epilogue::finalize, 8},
           Depth{"128x8x256", kCooperative, Epilogue::gated_bf16, 4},
           Depth{"128x16x128", kCooperative, Epilogue::finalize, 7},
           Depth{"128x16x256", kCooperative, Epilogue::gated_bf16, 3},
           Depth{"128x32x128", kCooperative, Epilogue::finalize, 5},
           Depth{"128x32x256", kCooperative, Epilogue::act_bf16, 2},
           Depth{"128x64x128", kCooperative, Epilogue::finalize, 3},
           Depth{"128x64x128", kPingpong, Epilogue::bf16, 3},
           Depth{"128x64x256", kCooperative, Epilogue::bf16, 1},
           Depth{"128x128x128", kCooperative, Epilogue::bf16, 2},
           Depth{"128x128x128", kPingpong, Epilogue::gated_bf16, 2},
           Depth{"128x128x128", kPingpong, Epilogue::finalize, 1},
           Depth{"128x128x256", kCooperative, Epilogue::gated_bf16, 1},
           Depth{"128x256x128", kCooperative, Epilogue::gated_bf16, 1},
           Depth{"256x128x128", kCooperative, Epilogue::gated_bf16, 1},
       }) {
    EXPECT_EQ(most_stages(parse_tile(depth.tile).value(), depth.consumers, depth.ending), depth.stages)
        << depth.tile << ' ' << to_string(depth.consumers) << ' ' << to_string(depth.ending);
  }
}

TEST(Sm120W4a16, IsOfferedAtEveryDepthThatFitsAndIsRefusedAtTheFirstThatDoesNot) {
  for (const char* name : {"rtx-pro-6000-server", "gb10"}) {
    const Device d = device(name);
    for (const Epilogue ending : kSm120Bf16Endings) {
      std::size_t built = 0;
      std::size_t refused = 0;
      for (const Sm120Tile& tile : kSm120Tiles) {
        for (const Consumers consumers : {Consumers::cooperative, Consumers::pingpong}) {
          if (consumers == Consumers::pingpong && !tile.pingpong) continue;
          ++refused;
          if (!sm120_builds(tile, consumers, ending, Precision::w4a16)) continue;
          const int most = sm120_most_stages(tile, consumers, ending, Precision::w4a16);
          built += static_cast<std::size_t>(most - 1) + (sm120_splits(consumers) ? 1 : 0);
        }
      }
      const GemmProblem problem = ending_in(ending);
      for (const Schedule& s : candidates(d, problem)) {
        EXPECT_EQ(s.precision, Precision::w4a16);
        EXPECT_EQ(s.mma, Mma::mma_bf16);
        const auto rejection = reject(d, problem, s);
        EXPECT_EQ(in_catalogue(d, s), !rejection) << describe(s);
        --(rejection ? refused : built);
        if (!rejection) continue;
        EXPECT_EQ(rejection->code, RejectionCode::smem_over_limit) << describe(s);
        EXPECT_EQ(rejection->needs, shared_memory(s).total);
        EXPECT_TRUE(rejection->nearest) << describe(s);
      }
      EXPECT_EQ(built, 0U) << name << ' ' << to_string(ending);
      EXPECT_EQ(refused, 0U) << name << ' ' << to_string(ending);
    }
  }
}

TEST(Sm120W4a16, ExplainsTheLargerTilesByTheirBytes) {
  const Device d = device("rtx-5090");
  PlanOptions options;
  for (const auto& [tile, over] :
       {std::pair{"128x256x128", "56,960 B over"}, std::pair{"256x128x128", "18,048 B over"},
        std::pair{"128x128x256", "75,392 B over"}, std::pair{"128x64x256", "9,856 B over"}}) {
    options.why_not = {parse_tile(tile).value()};
    const WhyNot answer = plan(d, ending_in(Epilogue::finalize), options).value().plans.at(0).why_not.at(0);
    ASSERT_TRUE(answer.rejection) << tile;
    EXPECT_EQ(answer.rejection->code, RejectionCode::smem_over_limit) << tile;
    EXPECT_NE(answer.message.find(over), std::string::npos) << answer.message;
    EXPECT_NE(answer.message.find("no stage count fits"), std::string::npos) << answer.message;
    EXPECT_NE(answer.message.find("the nearest that runs is 128x"), std::string::npos) << answer.message;
  }
}

TEST(Sm120W4a16, IsNotOfferedWithTheEndingsOfW4a4) {
  for (const Epilogue ending : {Epilogue::gated_nvfp4, Epilogue::act_nvfp4}) {
    const Device d = device("rtx-5090");
    EXPECT_TRUE(candidates(d, ending_in(ending)).empty());
    const auto rejection = reject(d, ending_in(ending));
    ASSERT_TRUE(rejection);
    EXPECT_EQ(rejection->code, RejectionCode::precision_not_built);
    EXPECT_NE(rejection->message.find("w4a16"), std::string::npos) << rejection->message;
  }
}

// A fourth of the FP4 rate on an RTX PRO 6000, an eighth on a GeForce: tilewright/device.hpp.
TEST(Sm120W4a16, MultipliesAtTheBf16RateOfTheDeviceAndDecodesWithEachColumnOfWarps) {
  for (const char* name : {"rtx-pro-6000-server", "rtx-5090"}) {
    const Device d = device(name);
    const auto cost_of = [&](const Sm120Tile& tile, Precision precision) {
      const Schedule s = sm120_schedule(tile, Consumers::cooperative, 2, SplitKind::none, Epilogue::bf16, precision);
      return predict(d, grouped_gemm(32, 16, 4096, 6144, precision, Epilogue::bf16).value(), s);
    };
    const Sm120Tile wide{128, 128, 128, true};
    const Sm120Tile narrow{128, 16, 128, false};
    const double ratio = static_cast<double>(d.flop_per_clk.fp4) / d.flop_per_clk.bf16;
    EXPECT_NEAR(cost_of(wide, Precision::w4a16).mma_us / cost_of(wide, Precision::w4a4).mma_us, ratio, 1e-9 * ratio);
    EXPECT_EQ(cost_of(wide, Precision::w4a4).decode_us, 0.0);
    // Two columns of warps in the one, one in the other; as many k-blocks.
    EXPECT_NEAR(cost_of(wide, Precision::w4a16).decode_us / cost_of(narrow, Precision::w4a16).decode_us, 2.0, 1e-9);
  }
}

TEST(Sm120W4a16, HasATimeOnEveryDeviceOfSm12x) {
  for (const Device& d : known_devices()) {
    if (kernel_arch(d.arch) != Arch::sm_120) continue;
    const Plan result = plan(d, ending_in(Epilogue::finalize)).value();
    ASSERT_NE(result.plans.front().chosen(), nullptr) << d.name;
    const double us = result.plans.front().chosen()->cost.predicted_us;
    EXPECT_TRUE(us > 0.0 && us < 1e6) << d.name << ": " << us;
  }
}

}  // namespace
}  // namespace tilewright
