#include "tilewright/layer_bench.hpp"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

ModelFacts small_model() {
  ModelFacts model;
  model.name = "small";
  model.hidden = 128;
  model.intermediate = 96;
  model.experts = 16;
  model.routing.top_k = 4;
  return model;
}

LayerBenchOptions quick() {
  LayerBenchOptions options;
  options.tokens = {1, 6};
  options.rounds = 3;
  return options;
}

TEST(LayerBench, CountsTheWorkOfTheRankThatItRuns) {
  LayerBenchOptions options = quick();
  options.ep = 4;
  const auto bench = bench_layer(small_model(), options);
  ASSERT_TRUE(bench) << bench.error().message();
  ASSERT_EQ(bench->results.size(), 2U);
  const LayerBenchResult& one = bench->results[0];
  EXPECT_EQ(one.rows, 1);
  EXPECT_EQ(one.active_experts, 1);
  EXPECT_EQ(one.weight_bytes, 3 * 128 * 96 * 9 / 16);
  EXPECT_EQ(bench->results[1].rows, 6);
  EXPECT_EQ(bench->results[1].active_experts, 4);
  EXPECT_EQ(bench->context.model_bytes, 4 * one.weight_bytes);
}

TEST(LayerBench, PrintsEveryFigureBesideWhatBoundsIt) {
  const auto bench = bench_layer(small_model(), quick());
  ASSERT_TRUE(bench);
  EXPECT_GT(bench->context.read_GBps, 0.0);
  EXPECT_GT(bench->context.dot_GMACps, 0.0);
  for (const LayerBenchResult& result : bench->results) {
    EXPECT_EQ(result.rounds, 3);
    EXPECT_GT(result.us, 0.0);
    EXPECT_LE(result.us_low, result.us);
    EXPECT_GE(result.us_high, result.us);
    EXPECT_EQ(result.bound, result.read_us >= result.dot_us ? "read" : "dot");
    EXPECT_GT(result.bound_share, 0.0);
    EXPECT_NEAR(result.weight_GBps, static_cast<double>(result.weight_bytes) / result.us * 1e-3, 1e-9);
  }
}

TEST(LayerBench, RefusesSplitsThatTheModelDoesNotAllow) {
  LayerBenchOptions options = quick();
  options.tp = 4;  // 96 / 4 = 24 channels: a block and a half
  const auto cut = bench_layer(small_model(), options);
  ASSERT_FALSE(cut);
  EXPECT_NE(cut.error().message().find("tp 4 cuts I 96 inside a 16-block"), std::string::npos) << cut.error().message();
  options = quick();
  options.ep = 17;
  ASSERT_FALSE(bench_layer(small_model(), options));
  options = quick();
  options.tokens = {0};
  ASSERT_FALSE(bench_layer(small_model(), options));
}

}  // namespace
}  // namespace tilewright
