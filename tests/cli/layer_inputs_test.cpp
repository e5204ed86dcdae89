#include "tools/tilewright/layer_inputs.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace tilewright::cli {
namespace {

TEST(Random, TheSameSeedGivesTheSameNumbersEverywhere) {
  Random random(1);
  // SplitMix64 of seed 1, by its published recurrence.
  EXPECT_EQ(random.bits(), 0x910A2DEC89025CC1ULL);
  EXPECT_EQ(random.bits(), 0xBEEB8DA1658EEC67ULL);
}

TEST(Random, NormalNumbersHaveMeanZeroAndDeviationOne) {
  Random random(7);
  constexpr int kCount = 100000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kCount; ++i) {
    const double value = random.normal();
    sum += value;
    squares += value * value;
  }
  // Five standard deviations of the estimates: 1 / sqrt(n) and sqrt(2 / n).
  EXPECT_NEAR(sum / kCount, 0.0, 5.0 / std::sqrt(kCount));
  EXPECT_NEAR(squares / kCount, 1.0, 5.0 * std::sqrt(2.0 / kCount));
}

TEST(RandomExperts, EveryExpertHasItsOwnWeightsAndGateAndUpTheirOwnScale) {
  const ExpertWeights weights = random_experts({64, 32, 3, 4, 12, true}, 5);
  ASSERT_EQ(weights.experts.size(), 3U);
  EXPECT_EQ(weights.first_expert, 4);
  EXPECT_EQ(weights.global_experts, 12);
  for (const Nvfp4Expert& expert : weights.experts) {
    EXPECT_EQ(expert.gate.rows, 32);
    EXPECT_EQ(expert.gate.cols, 64);
    EXPECT_EQ(expert.down.rows, 64);
    EXPECT_EQ(expert.down.cols, 32);
    EXPECT_NE(expert.gate.global_scale, expert.up.global_scale);
  }
  EXPECT_NE(std::memcmp(weights.experts[0].up.codes, weights.experts[1].up.codes, 64 * 32 / 2), 0);
}

TEST(RandomExperts, WithoutAGateThereIsNone) {
  EXPECT_TRUE(random_experts({64, 32, 1, 0, 1, false}, 5).experts[0].gate.empty());
}

TEST(RouterLogits, AreTheProductsOfTokensAndRouterRowsPlusTheBias) {
  Router router;
  router.hidden = 2;
  router.weight = {1.0F, 2.0F, -1.0F, 0.5F};
  router.logit_bias = {10.0F, 20.0F};
  const std::vector<bf16> x = {to_bf16(3.0F), to_bf16(4.0F)};
  EXPECT_EQ(router_logits(router, x, 1), std::vector<float>({21.0F, 19.0F}));
}

}  // namespace
}  // namespace tilewright::cli
