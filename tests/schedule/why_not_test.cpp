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
  const WhyNot answer =
      ask(schedule_tests::cpu(), grouped_gemm(8, 1, 1536, 2048, Precision::w4a4).value(), "16x4x1024");
  ASSERT_TRUE(answer.candidate);
  EXPECT_EQ(answer.candidate->schedule.mma, Mma::cpu_panel);
  EXPECT_NE(answer.message.find("slower"), std::string::npos) << answer.message;
}

}  // namespace
}  // namespace tilewright
