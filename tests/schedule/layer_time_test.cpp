#include <gtest/gtest.h>

#include "schedule/problems.hpp"

namespace tilewright {
namespace {

using schedule_tests::device;
using schedule_tests::glm5;
using schedule_tests::qwen3;

double step_us(const LayerTime& layer, const std::string& name) {
  for (const LayerStep& step : layer.steps) {
    if (step.name == name) return step.us;
  }
  return -1.0;
}

TEST(LayerTime, IsTheSumOfItsSteps) {
  const Plan result = plan(device("rtx-pro-6000-server"), glm5(512, 8, Precision::w4a4)).value();
  const LayerTime& layer = result.layers.at(0);
  double sum = 0;
  for (const LayerStep& step : layer.steps) sum += step.us;
  EXPECT_DOUBLE_EQ(layer.predicted_us, sum);
  EXPECT_DOUBLE_EQ(step_us(layer, "gemm1"), result.plans[0].chosen()->cost.predicted_us);
  EXPECT_GT(layer.predicted_us, layer.floor_us);
}

TEST(LayerTime, QuantizesActivationsOnlyWhereTheyAreFp4) {
  EXPECT_GT(step_us(plan(device("gb10"), qwen3(16, Precision::w4a4))->layers[0], "quantize"), 0.0);
  EXPECT_EQ(step_us(plan(device("h200"), qwen3(16, Precision::w4a16))->layers[0], "quantize"), -1.0);
}

TEST(LayerTime, IsBoundByTheActivationsOfThePartialsInPrefill) {
  // 16,384 tokens over all experts: 131,072 rows of bf16 partials in, 16,384 sums out, at 1512 GB/s.
  const Plan result =
      plan(device("rtx-pro-6000-server"), glm5(16384, 1, Precision::w4a4, RowDistribution::balanced)).value();
  EXPECT_NEAR(step_us(result.layers[0], "combine"), (131072.0 + 16384.0) * 6144 * 2 / 1512e3, 5.0);
}

TEST(LayerTime, HasAFloorButNoPredictionWhereNothingRuns) {
  const Plan result = plan(device("b200"), glm5(16, 8, Precision::w4a4)).value();
  EXPECT_EQ(result.layers[0].predicted_us, 0.0);
  EXPECT_GT(result.layers[0].floor_us, 0.0);
}

}  // namespace
}  // namespace tilewright
