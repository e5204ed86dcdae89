#include <gtest/gtest.h>

#include "schedule/problems.hpp"

namespace tilewright {
namespace {

WhyNot ask(const Device& device, const GemmProblem& problem, const char* tile) {
  PlanOptions options;
  options.why_not = {parse_tile(tile).value()};
  return plan(device, problem, options).value().plans.at(0).why_not.at(0);
}

GemmProblem decode(Precision precision = Precision::w4a4) {
  return grouped_gemm(32, 16, 4096, 6144, precision).value();
}

TEST(WhyNot, SaysHowMuchSlowerALegalTileIsAndByWhichTerm) {
  const WhyNot answer = ask(schedule_tests::device("gb10"), decode(), "128x256x128");
  ASSERT_TRUE(answer.candidate);
  EXPECT_FALSE(answer.rejection);
  EXPECT_EQ(answer.differs, Bound::mma);
  for (const char* part :
       {"legal with 3 stages", "slower", "mma takes", "6.2% of its token columns hold rows instead of 100%"}) {
    EXPECT_NE(answer.message.find(part), std::string::npos) << answer.message;
  }
}

TEST(WhyNot, GivesTheBytesOfATileWithTooManyStages) {
  const WhyNot answer = ask(schedule_tests::device("gb10"), decode(), "128x256x128:4");
  ASSERT_TRUE(answer.rejection);
  EXPECT_EQ(answer.rejection->code, RejectionCode::smem_over_limit);
  EXPECT_NE(answer.message.find("18,048 B over"), std::string::npos) << answer.message;
}

TEST(WhyNot, SaysThatATileIsNotBuiltAndWhichOneIs) {
  const WhyNot answer = ask(schedule_tests::device("rtx-5090"), decode(), "64x64x128");
  ASSERT_TRUE(answer.rejection);
  EXPECT_EQ(answer.rejection->code, RejectionCode::tile_not_in_catalogue);
  EXPECT_NE(answer.message.find("the nearest that runs is 128x64x128"), std::string::npos) << answer.message;
}

TEST(WhyNot, KnowsTheChosenTile) {
  const Device d = schedule_tests::device("rtx-5090");
  const Schedule s = schedule_tests::chosen(plan(d, decode()).value()).schedule;
  const WhyNot answer = ask(d, decode(), to_string(TileSpec{s.tile_m, s.tile_n, s.tile_k, s.stages}).c_str());
  EXPECT_TRUE(answer.is_chosen);
  EXPECT_NE(answer.message.find("is the chosen schedule"), std::string::npos);
}

TEST(WhyNot, GivesTheReasonOfTheWholeProblemWhereNothingRuns) {
  const WhyNot answer = ask(schedule_tests::device("h200"), decode(), "128x256x128");
  ASSERT_TRUE(answer.rejection);
  EXPECT_EQ(answer.rejection->code, RejectionCode::no_fp4_mma);
}

TEST(WhyNot, ComparesTheKindsOfACpu) {
  const GemmProblem problem = grouped_gemm(8, 1, 1536, 2048, Precision::w4a4).value();
  const WhyNot panel = ask(schedule_tests::cpu(), problem, "16x8x512");
  ASSERT_TRUE(panel.rejection);
  EXPECT_EQ(panel.rejection->code, RejectionCode::rows_suit_other_walk);
  EXPECT_NE(panel.message.find("cpu_panel for 1.0 rows an expert: up to 4, cpu_stream is faster on avx512_vnni"),
            std::string::npos)
      << panel.message;
  const WhyNot other = ask(schedule_tests::cpu(), problem, "16x4x1024");
  ASSERT_TRUE(other.rejection);
  EXPECT_EQ(other.rejection->code, RejectionCode::tile_not_in_catalogue);
}

}  // namespace
}  // namespace tilewright
