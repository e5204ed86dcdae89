#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "schedule/problems.hpp"
#include "tilewright/catalogue.hpp"
#include "tilewright/rejection.hpp"
#include "tilewright/shared_memory.hpp"

namespace tilewright {
namespace {

using schedule_tests::device;

GemmProblem problem_of(const Device& device, Epilogue epilogue = Epilogue::finalize) {
  return grouped_gemm(32, 16, 4096, 6144, default_precision(device.arch), epilogue).value();
}

Schedule tile(const Device& device, const char* text, Epilogue epilogue = Epilogue::finalize) {
  return schedule_for_tile(device, problem_of(device, epilogue), parse_tile(text).value());
}

std::optional<Rejection> rejected(const Device& device, const Schedule& s) {
  return reject(device, problem_of(device, s.epilogue), s);
}

TEST(Rules, NameTheBytesTheLimitTheDifferenceAndWhatFits) {
  for (const char* name : {"rtx-pro-6000-server", "gb10"}) {
    const Device d = device(name);
    const auto rejection = rejected(d, tile(d, "128x256x128:4"));
    ASSERT_TRUE(rejection);
    EXPECT_EQ(rejection->code, RejectionCode::smem_over_limit);
    EXPECT_EQ(rejection->needs, 119424);
    EXPECT_EQ(rejection->limit, 101376);
    for (const char* part : {"119,424", "101,376", "18,048 B over", "3 stages fit"}) {
      EXPECT_NE(rejection->message.find(part), std::string::npos) << rejection->message;
    }
    ASSERT_TRUE(rejection->nearest);
    EXPECT_EQ(rejection->nearest->stages, 3);
  }
}

TEST(Rules, AcceptABlockThatIsExactlyAsLargeAsTheLimit) {
  Device d = device("rtx-pro-6000-server");
  const Schedule s = tile(d, "128x128x128:4");
  d.smem_per_block = static_cast<int>(shared_memory(s).total);
  EXPECT_FALSE(rejected(d, s));
  d.smem_per_block -= 1;
  ASSERT_TRUE(rejected(d, s));
  EXPECT_EQ(rejected(d, s)->needs - rejected(d, s)->limit, 1);
}

TEST(Rules, OfferTheNearestTileWhereNoStageCountFits) {
  const Device d = device("rtx-pro-6000-server");
  const auto rejection = rejected(d, tile(d, "256x256x256"));
  ASSERT_TRUE(rejection);
  EXPECT_EQ(rejection->code, RejectionCode::smem_over_limit);
  ASSERT_TRUE(rejection->nearest);
  EXPECT_FALSE(rejected(d, *rejection->nearest));
  EXPECT_NE(rejection->message.find("no stage count fits"), std::string::npos) << rejection->message;
}

TEST(Rules, KnowTheTilesThatAreBuilt) {
  const Device d = device("rtx-pro-6000-server");
  const auto rejection = rejected(d, tile(d, "128x24x128"));
  ASSERT_TRUE(rejection);
  EXPECT_EQ(rejection->code, RejectionCode::tile_not_in_catalogue);
  ASSERT_TRUE(rejection->nearest);
  EXPECT_EQ(rejection->nearest->tile_n, 32);
}

TEST(Rules, HaveTheirOwnCodeForStagesClustersRegistersAndResidentBlocks) {
  const Device d = device("rtx-pro-6000-server");
  const auto code_of = [&](auto change) {
    Schedule s = tile(d, "128x128x128:2");
    change(s);
    const auto rejection = rejected(d, s);
    EXPECT_TRUE(rejection && rejection->nearest);
    EXPECT_FALSE(rejected(d, *rejection->nearest));
    return rejection->code;
  };
  EXPECT_EQ(code_of([](Schedule& s) { s.stages = 1; }), RejectionCode::stages_below_two);
  EXPECT_EQ(code_of([](Schedule& s) { s.cluster = 2; }), RejectionCode::cluster_not_supported);
  EXPECT_EQ(code_of([](Schedule& s) { s.ctas_per_sm = 2; }), RejectionCode::register_budget);
  EXPECT_EQ(code_of([](Schedule& s) {
              s.tile_n = 8;
              s.stages = 6;
              s.ctas_per_sm = 2;
            }),
            RejectionCode::smem_over_sm);
}

TEST(Rules, RefuseFp4OnHopperAndSayWhatRunsThere) {
  const Device d = device("h200");
  const auto rejection = reject(d, grouped_gemm(32, 16, 4096, 6144, Precision::w4a4).value());
  ASSERT_TRUE(rejection);
  EXPECT_EQ(rejection->code, RejectionCode::no_fp4_mma);
  EXPECT_STREQ(to_string(rejection->code), "no_fp4_mma");
  EXPECT_NE(rejection->message.find("no FP4 MMA on sm_90"), std::string::npos);
  EXPECT_NE(rejection->message.find("w4a16"), std::string::npos);
}

TEST(Rules, SayWhichArchitecturesHaveNoKernels) {
  for (const char* name : {"b200", "b300", "thor"}) {
    const Device d = device(name);
    const auto rejection = reject(d, problem_of(d));
    ASSERT_TRUE(rejection) << name;
    EXPECT_EQ(rejection->code, RejectionCode::no_kernels_for_arch);
    EXPECT_NE(rejection->message.find(to_string(d.arch)), std::string::npos);
  }
}

TEST(Rules, RefuseAKThatIsNotWholeBlocks) {
  const auto rejection = reject(device("h200"), grouped_gemm(1, 1, 128, 232, Precision::w4a16).value());
  ASSERT_TRUE(rejection);
  EXPECT_EQ(rejection->code, RejectionCode::k_not_multiple_of_16);
  EXPECT_EQ(rejection->needs, 8);
  EXPECT_NE(rejection->message.find("pad K to 240"), std::string::npos) << rejection->message;
}

TEST(Rules, CompareACpusWorkingSetWithItsL2) {
  Device d = schedule_tests::cpu();
  const GemmProblem problem = grouped_gemm(8, 64, 1536, 2048, Precision::w4a16).value();
  const Schedule s = candidates(d, problem).back();
  ASSERT_EQ(s.mma, Mma::cpu_panel);
  EXPECT_FALSE(reject(d, problem, s));
  d.smem_per_block = 16 << 10;
  const auto rejection = reject(d, problem, s);
  ASSERT_TRUE(rejection);
  EXPECT_EQ(rejection->code, RejectionCode::working_set_over_l2);
  EXPECT_EQ(rejection->needs, shared_memory(s).total);
  EXPECT_EQ(rejection->limit, 16 << 10);
}

TEST(Rules, LeaveACpuTheWayThatItsBackendTakesForAsManyRows) {
  const Device d = schedule_tests::cpu();
  const auto legal = [&](Precision precision, int rows) {
    const GemmProblem problem = grouped_gemm(8, rows, 1536, 2048, precision).value();
    std::vector<Mma> kinds;
    for (const Schedule& s : candidates(d, problem)) {
      if (!reject(d, problem, s)) kinds.push_back(s.mma);
    }
    return kinds;
  };
  EXPECT_EQ(legal(Precision::w4a4, 4), std::vector{Mma::cpu_stream});
  EXPECT_EQ(legal(Precision::w4a4, 5), std::vector{Mma::cpu_panel});
  EXPECT_EQ(legal(Precision::w4a16, 2), std::vector{Mma::cpu_stream});
  EXPECT_EQ(legal(Precision::w4a16, 3), std::vector{Mma::cpu_panel});
}

TEST(Rules, PassEverySm90KernelThatIsBuilt) {
  for (const char* name : {"h100", "h200"}) {
    const Device d = device(name);
    std::size_t built = 0;
    for (const Sm90Tile& tile : kSm90Tiles) built += static_cast<std::size_t>(sm90_endings(tile));
    for (const Epilogue epilogue : {Epilogue::gated_bf16, Epilogue::act_bf16, Epilogue::finalize, Epilogue::bf16}) {
      const auto all = candidates(d, problem_of(d, epilogue));
      built -= all.size();
      for (const Schedule& s : all) EXPECT_FALSE(reject(d, problem_of(d, epilogue), s)) << describe(s);
    }
    EXPECT_EQ(built, 0U) << name;
  }
}

TEST(Rules, RefuseWhatNoSm90KernelIsBuiltFor) {
  const Device d = device("h200");
  const auto ends_in_nvfp4 = reject(d, problem_of(d, Epilogue::gated_nvfp4));
  ASSERT_TRUE(ends_in_nvfp4);
  EXPECT_EQ(ends_in_nvfp4->code, RejectionCode::precision_not_built);

  Schedule fewer_stages = sm90_schedule(kSm90Tiles[6], Epilogue::bf16);
  fewer_stages.stages = 2;
  const auto rejection = reject(d, problem_of(d, Epilogue::bf16), fewer_stages);
  ASSERT_TRUE(rejection);
  EXPECT_EQ(rejection->code, RejectionCode::tile_not_in_catalogue);
  EXPECT_NE(rejection->message.find("256x64x256 with 2 stages fits with"), std::string::npos) << rejection->message;
  ASSERT_TRUE(rejection->nearest);
  EXPECT_EQ(*rejection->nearest, sm90_schedule(kSm90Tiles[6], Epilogue::bf16));
}

TEST(Rules, LetNoCandidatePassThatDoesNotFitAndNameOneThatDoes) {
  EXPECT_TRUE(rc::check("legal candidates fit, and the nearest of an illegal one is legal", [] {
    const Device d = device(*rc::gen::element<std::string>("h200", "rtx-5080", "gb10"));
    const int rows = *rc::gen::inRange(1, 2000);
    const int groups = *rc::gen::inRange(1, 257);
    const bool hopper = d.arch == Arch::sm_90;
    const auto epilogue =
        *rc::gen::element(Epilogue::bf16, Epilogue::finalize, hopper ? Epilogue::gated_bf16 : Epilogue::gated_nvfp4);
    const auto n = 16 * *rc::gen::inRange(1, 500);
    const auto k = 16 * *rc::gen::inRange(1, 500);
    const auto problem = grouped_gemm(groups, rows, n, k, default_precision(d.arch), epilogue);
    RC_ASSERT(problem.has_value());
    for (const Schedule& s : candidates(d, *problem)) {
      const auto rejection = reject(d, *problem, s);
      const std::int64_t bytes = shared_memory(s).total;
      if (!rejection) {
        RC_ASSERT(bytes <= d.smem_per_block);
        RC_ASSERT(s.ctas_per_sm * (bytes + d.smem_reserved) <= d.smem_per_sm);
        continue;
      }
      RC_ASSERT(rejection->needs > rejection->limit);
      RC_ASSERT(rejection->nearest.has_value());
      RC_ASSERT(!reject(d, *problem, *rejection->nearest).has_value());
    }
  }));
}

}  // namespace
}  // namespace tilewright
