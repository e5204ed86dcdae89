// The planner offers SM120's kernels, all of them and nothing else.
#include "tilewright/sm120_catalogue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "schedule/problems.hpp"
#include "tilewright/catalogue.hpp"
#include "tilewright/rejection.hpp"

namespace tilewright {
namespace {

using schedule_tests::device;

GemmProblem ending_in(Epilogue epilogue) { return grouped_gemm(32, 16, 4096, 6144, Precision::w4a4, epilogue).value(); }

std::vector<Consumers> ways_to_share(const Sm120Tile& tile) {
  return tile.pingpong ? std::vector{Consumers::cooperative, Consumers::pingpong} : std::vector{Consumers::cooperative};
}

Schedule whole_tiles(const Sm120Tile& tile, Consumers consumers, int stages, Epilogue epilogue) {
  return sm120_schedule(tile, consumers, stages, SplitKind::none, epilogue);
}

bool holds(const std::vector<Schedule>& all, const Schedule& s) {
  return std::find(all.begin(), all.end(), s) != all.end();
}

std::vector<Schedule> legal_candidates(const Device& d, Epilogue epilogue) {
  const GemmProblem problem = ending_in(epilogue);
  std::vector<Schedule> legal;
  for (const Schedule& s : candidates(d, problem)) {
    if (!reject(d, problem, s)) legal.push_back(s);
  }
  return legal;
}

// The tiles that CUTLASS's builders offer for NVFP4 on SM120.
constexpr std::array kPrefillTiles = {TileSpec{128, 128, 128, 0}, TileSpec{128, 128, 256, 0},
                                      TileSpec{128, 256, 128, 0}, TileSpec{256, 128, 128, 0}};

TEST(Sm120Catalogue, LeavesEveryPrefillTileTwoStagesWithEveryEnding) {
  for (const TileSpec& wanted : kPrefillTiles) {
    const auto tile = std::find_if(kSm120Tiles.begin(), kSm120Tiles.end(), [&](const Sm120Tile& t) {
      return t.m == wanted.m && t.n == wanted.n && t.k == wanted.k;
    });
    ASSERT_NE(tile, kSm120Tiles.end()) << to_string(wanted);
    for (const Epilogue ending : kSm120Endings) {
      for (const Consumers consumers : ways_to_share(*tile)) {
        EXPECT_GE(sm120_most_stages(*tile, consumers, ending), 2) << to_string(wanted) << " " << to_string(ending);
        const Schedule s = whole_tiles(*tile, consumers, 2, ending);
        EXPECT_FALSE(reject(device("rtx-pro-6000-server"), ending_in(ending), s)) << describe(s);
      }
    }
  }
}

TEST(Sm120Catalogue, KnowsTheBytesOfItsLargestTilesWorkedOutByHand) {
  // 3 stages of (128 + 256) * 128 * 9 / 16, 32 staged tokens of 2 a channel + 16, 48 + 64 of barriers and slots, to
  // 128.
  const std::int64_t ring = std::int64_t{3} * (128 + 256) * 128 * 9 / 16;
  const auto bytes = [](int m, int n, Epilogue ending) {
    return shared_memory(whole_tiles({m, n, 128}, Consumers::cooperative, 3, ending)).total;
  };
  EXPECT_EQ(bytes(128, 256, Epilogue::bf16), round_up(ring + 32 * (2 * 128 + 16) + 112, 128));
  EXPECT_EQ(bytes(128, 256, Epilogue::act_nvfp4), bytes(128, 256, Epilogue::bf16));
  EXPECT_EQ(bytes(128, 256, Epilogue::gated_nvfp4), round_up(ring + 32 * (2 * 64 + 16) + 112, 128));
  EXPECT_EQ(bytes(256, 128, Epilogue::finalize), 99968);
}

TEST(Sm120Catalogue, IsOfferedWithEveryStageCountThatFitsAndTheFirstThatDoesNot) {
  for (const char* name : {"rtx-pro-6000-server", "rtx-5080", "gb10"}) {
    const Device d = device(name);
    for (const Epilogue ending : kSm120Endings) {
      const GemmProblem problem = ending_in(ending);
      const std::vector<Schedule> all = candidates(d, problem);
      std::size_t expected = 0;
      for (const Sm120Tile& tile : kSm120Tiles) {
        for (const Consumers consumers : ways_to_share(tile)) {
          const int most = sm120_most_stages(tile, consumers, ending);
          for (int stages = 2; stages <= most; ++stages) {
            const Schedule s = whole_tiles(tile, consumers, stages, ending);
            EXPECT_TRUE(holds(all, s)) << describe(s);
            EXPECT_FALSE(reject(d, problem, s)) << describe(s);
          }
          const Schedule over = whole_tiles(tile, consumers, most + 1, ending);
          EXPECT_TRUE(holds(all, over)) << describe(over);
          const auto rejection = reject(d, problem, over);
          ASSERT_TRUE(rejection) << describe(over);
          EXPECT_EQ(rejection->code, RejectionCode::smem_over_limit);
          EXPECT_EQ(rejection->needs, shared_memory(over).total);
          EXPECT_EQ(rejection->nearest, whole_tiles(tile, consumers, most, ending));
          const Schedule stream = sm120_schedule(tile, consumers, most, SplitKind::stream_k, ending);
          EXPECT_EQ(holds(all, stream), consumers == Consumers::cooperative) << describe(stream);
          expected += static_cast<std::size_t>(most) + (sm120_splits(consumers) ? 1 : 0);
        }
      }
      EXPECT_EQ(all.size(), expected) << name << " " << to_string(ending);
    }
  }
}

TEST(Sm120Catalogue, HoldsEveryLegalCandidateAndNoOtherOneIsLegal) {
  const Device d = device("rtx-pro-6000-server");
  for (const Epilogue ending : kSm120Endings) {
    for (const Schedule& s : legal_candidates(d, ending)) {
      EXPECT_TRUE(in_catalogue(d, s)) << describe(s);
      const bool member = std::any_of(kSm120Tiles.begin(), kSm120Tiles.end(), [&](const Sm120Tile& tile) {
        return s == sm120_schedule(tile, s.roles.consumers, s.stages, s.split.kind, ending) &&
               (tile.pingpong || s.roles.consumers == Consumers::cooperative) &&
               (s.split.kind == SplitKind::none || sm120_splits(s.roles.consumers));
      });
      EXPECT_TRUE(member) << describe(s);
    }
  }
}

TEST(Sm120Catalogue, HoldsStreamKAtEveryDepthOfACooperativeRing) {
  const Device d = device("gb10");
  for (const Sm120Tile& tile : kSm120Tiles) {
    for (int stages = 2; stages <= sm120_most_stages(tile, Consumers::cooperative, Epilogue::finalize); ++stages) {
      const Schedule s = sm120_schedule(tile, Consumers::cooperative, stages, SplitKind::stream_k, Epilogue::finalize);
      EXPECT_FALSE(reject(d, ending_in(Epilogue::finalize), s)) << describe(s);
    }
  }
}

TEST(Sm120Catalogue, RefusesWhatItsKernelsAreNotBuiltFor) {
  const Device d = device("rtx-pro-6000-server");
  const auto refusal = [&](const char* tile, auto change) {
    Schedule s = schedule_for_tile(d, ending_in(Epilogue::bf16), parse_tile(tile).value());
    change(s);
    const auto rejection = reject(d, ending_in(Epilogue::bf16), s);
    EXPECT_FALSE(in_catalogue(d, s)) << describe(s);
    EXPECT_TRUE(rejection && rejection->nearest) << describe(s);
    if (!rejection) return std::string();
    EXPECT_EQ(rejection->code, RejectionCode::tile_not_in_catalogue) << rejection->message;
    EXPECT_FALSE(reject(d, ending_in(Epilogue::bf16), *rejection->nearest));
    return rejection->message;
  };
  const std::string split = refusal("128x8x128:2", [](Schedule& s) { s.split = {SplitKind::split_k, 2}; });
  EXPECT_EQ(split.rfind("128x8x128, 2 stages, cooperative 8+4 warps, split-K 2, bf16 fits with ", 0), 0U) << split;
  refusal("128x8x128:2", [](Schedule& s) { s.ctas_per_sm = 2; });
  refusal("128x8x128:2", [](Schedule& s) { s.token_load = TokenLoad::gather; });
  refusal("128x8x128:2", [](Schedule& s) { s.roles.consumer_warps = 4; });
  refusal("128x8x128:2", [](Schedule& s) { s.roles.consumers = Consumers::pingpong; });
  refusal("128x64x128:2", [](Schedule& s) {
    s.roles.consumers = Consumers::pingpong;
    s.split.kind = SplitKind::stream_k;
  });
  refusal("128x8x64:2", [](Schedule&) {});
}

TEST(Sm120Catalogue, NamesRegistersWhereATileWouldFitButNotItsSums) {
  const Device d = device("rtx-5090");
  const GemmProblem problem = ending_in(Epilogue::finalize);
  const auto rejection = reject(d, problem, schedule_for_tile(d, problem, parse_tile("256x256x64:2").value()));
  ASSERT_TRUE(rejection);
  EXPECT_EQ(rejection->code, RejectionCode::register_budget);
  // 65,536 registers for 9 warps are 227 a thread, of which 224 are whole allocations of 8.
  EXPECT_EQ(rejection->needs, 256 + 80);
  EXPECT_EQ(rejection->limit, 224);
  EXPECT_NE(rejection->message.find("256 accumulators"), std::string::npos) << rejection->message;
  ASSERT_TRUE(rejection->nearest);
  EXPECT_FALSE(reject(d, problem, *rejection->nearest));
}

}  // namespace
}  // namespace tilewright
