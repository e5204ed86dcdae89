#include "tilewright/cuda_layer_bench.hpp"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

ModelFacts model() {
  ModelFacts model;
  model.name = "small";
  model.hidden = 256;
  model.intermediate = 128;
  model.experts = 16;
  model.routing.top_k = 4;
  return model;
}

ErrorCode refusal(const CudaLayerBenchOptions& options) {
  const auto bench = bench_cuda_layer(model(), options);
  EXPECT_FALSE(bench);
  return bench ? ErrorCode::io : bench.error().code;
}

TEST(CudaLayerBench, RefusesWhatMakesNoSenseOnAnyMachine) {
  CudaLayerBenchOptions options;
  options.tokens = {};
  EXPECT_EQ(refusal(options), ErrorCode::invalid_argument);
  options.tokens = {4, 0};
  EXPECT_EQ(refusal(options), ErrorCode::invalid_argument);
  options.tokens = {1};
  options.ep = 8;  // two experts a rank
  options.local = true;
  EXPECT_EQ(refusal(options), ErrorCode::invalid_argument);
  options.local = false;
  options.tp = 3;
  EXPECT_EQ(refusal(options), ErrorCode::invalid_argument);
  options.tp = 1;
  options.replays = 0;
  EXPECT_EQ(refusal(options), ErrorCode::invalid_argument);
}

TEST(CudaLayerBench, SaysWhyThereIsNoGpuToMeasure) {
  const Status available = cuda_available();
  if (available) GTEST_SKIP() << "there is a GPU";
  const auto bench = bench_cuda_layer(model(), {});
  ASSERT_FALSE(bench);
  EXPECT_EQ(bench.error().message(), available.error().message());
}

}  // namespace
}  // namespace tilewright
