#include "tilewright/problem.hpp"

#include <gtest/gtest.h>

#include "schedule/problems.hpp"

namespace tilewright {
namespace {

using schedule_tests::glm5;

TEST(Problem, CountsScalesAmongTheWeightBytes) {
  // 256 experts of 512 x 2048: 134,217,728 B of codes and 16,777,216 B of scales.
  const auto problem = grouped_gemm(256, 16, 512, 2048, Precision::w4a4);
  ASSERT_TRUE(problem);
  EXPECT_EQ(active_weight_bytes(*problem), 150994944);
  EXPECT_DOUBLE_EQ(flops(*problem), 2.0 * 4096 * 512 * 2048);
}

TEST(Problem, OfALayerHasItsTwoGemms) {
  const auto gemms = layer_gemms(glm5(512, 8, Precision::w4a4));
  ASSERT_TRUE(gemms);
  EXPECT_EQ(gemms->local_experts, 32);
  EXPECT_EQ(gemms->gemm1.n, 4096);
  EXPECT_EQ(gemms->gemm1.k, 6144);
  EXPECT_EQ(gemms->gemm1.epilogue, Epilogue::gated_nvfp4);
  EXPECT_EQ(gemms->gemm2.n, 6144);
  EXPECT_EQ(gemms->gemm2.k, 2048);
  EXPECT_EQ(gemms->gemm2.epilogue, Epilogue::finalize);
  // 21.234 MB an expert (3 H I 0.5625), 32 of them.
  EXPECT_EQ(active_weight_bytes(gemms->gemm1) + active_weight_bytes(gemms->gemm2), std::int64_t{32} * 21233664);
}

TEST(Problem, OfANonGatedLayerHasHalfTheRowsInGemm1) {
  LayerProblem problem = glm5(64, 1, Precision::w4a16);
  problem.model.activation.kind = ActivationKind::relu2;
  const auto gemms = layer_gemms(problem);
  ASSERT_TRUE(gemms);
  EXPECT_EQ(gemms->gemm1.n, 2048);
  EXPECT_EQ(gemms->gemm1.epilogue, Epilogue::act_bf16);
}

TEST(Problem, RefusesATensorSplitThatCutsAScaleBlockAndSaysWhatFits) {
  LayerProblem problem = glm5(64, 1, Precision::w4a4);
  problem.model.intermediate = 1856;  // Nemotron-3
  problem.tp = 8;
  const auto refused = layer_gemms(problem);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(refused.error().message().find("232"), std::string::npos) << refused.error().message();
  EXPECT_NE(refused.error().message().find("pad I to 1920 (240 a rank)"), std::string::npos)
      << refused.error().message();
  problem.pad_intermediate = true;
  EXPECT_EQ(layer_gemms(problem).value().intermediate, 240);
  problem.tp = 4;
  problem.pad_intermediate = false;
  EXPECT_EQ(layer_gemms(problem).value().intermediate, 464);  // 29 whole blocks
}

TEST(Problem, TakesTheRowsOfEachLocalExpertWhenGiven) {
  LayerProblem problem = glm5(64, 128, Precision::w4a4);
  problem.counts = {60, 4};
  EXPECT_EQ(layer_gemms(problem).value().gemm1.rows.max(), 60);
  problem.counts = {60, 4, 1};
  const auto refused = layer_gemms(problem);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("3 experts, and 2 are local"), std::string::npos)
      << refused.error().message();
}

TEST(Problem, GivesTheFirstRanksTheExpertsThatAreLeftOver) {
  LayerProblem problem = glm5(64, 3, Precision::w4a4);
  EXPECT_EQ(layer_gemms(problem).value().local_experts, 86);  // 86 + 85 + 85
}

TEST(Problem, RefusesSizesThatAreNone) {
  EXPECT_FALSE(layer_gemms(glm5(0, 1, Precision::w4a4)));
  EXPECT_FALSE(layer_gemms(glm5(1, 257, Precision::w4a4)));
  EXPECT_FALSE(layer_gemms(glm5(1, 0, Precision::w4a4)));
  EXPECT_FALSE(grouped_gemm(0, 1, 128, 128, Precision::w4a4));
  EXPECT_FALSE(grouped_gemm(1 << 21, 1, 128, 128, Precision::w4a4));
}

}  // namespace
}  // namespace tilewright
