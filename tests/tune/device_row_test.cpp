#include "tune/device_row.hpp"

#include <gtest/gtest.h>

#include "tune/random_experts.hpp"

namespace tilewright::tune {
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

constexpr double kExpertBytes = 3 * 128 * 96 * 9 / 16;
constexpr double kExpertFlops = 2.0 * 3 * 128 * 96;

CudaLayerBenchResult row_of(double read_GBps, double matrix_tflops, const std::vector<double>& us) {
  CudaLayerBenchContext context;
  context.read_GBps = read_GBps;
  context.matrix_tflops = matrix_tflops;
  CudaLayerBenchResult row;
  row.tokens = 6;
  complete_row(row, us, {24, 12.5}, random_experts(small_model(), 0, 16, 1, 1), context);
  return row;
}

TEST(DeviceRow, SharesTheLargerOfTheTwoLimits) {
  const std::vector<double> us = {10, 11, 12, 13, 14, 15, 16, 17, 40};
  const CudaLayerBenchResult read = row_of(100.0, 1e6, us);
  EXPECT_DOUBLE_EQ(read.us, 14);
  EXPECT_DOUBLE_EQ(read.us_low, 11);
  EXPECT_DOUBLE_EQ(read.us_high, 17);
  EXPECT_DOUBLE_EQ(read.weight_bytes, 12.5 * kExpertBytes);
  EXPECT_DOUBLE_EQ(read.bytes, 12.5 * kExpertBytes + 2 * 2 * 6 * 128);
  EXPECT_DOUBLE_EQ(read.weight_GBps, 12.5 * kExpertBytes / 14e-6 * 1e-9);
  EXPECT_DOUBLE_EQ(read.tflops, 24 * kExpertFlops / 14e-6 * 1e-12);
  EXPECT_EQ(read.bound, "read");
  EXPECT_DOUBLE_EQ(read.share, read.bytes / 100e9 * 1e6 / 14);
  const CudaLayerBenchResult matrix = row_of(1e6, 0.5, us);
  EXPECT_EQ(matrix.bound, "matrix");
  EXPECT_DOUBLE_EQ(matrix.share, matrix.tflops / 0.5);
  EXPECT_DOUBLE_EQ(matrix.matrix_us, 24 * kExpertFlops / 0.5e12 * 1e6);
}

TEST(DeviceRow, CountsTheMeanWorkOfAReplay) {
  CudaLayerBenchOptions options;
  options.spread = TokenSpread::single;
  // Experts 0-3, 4-7, 8-11, 12-15, 0-3: the rank holds the first six.
  const MeanWork work = mean_work(small_model(), options, 10, 5, 6);
  EXPECT_DOUBLE_EQ(work.rows, 10 * (4 + 2 + 0 + 0 + 4) / 5.0);
  EXPECT_DOUBLE_EQ(work.active_experts, (4 + 2 + 0 + 0 + 4) / 5.0);
}

TEST(DeviceRow, RotatesCopiesUntilTheL2HoldsNoneOfThem) {
  constexpr std::int64_t kL2 = 50'000'000;
  EXPECT_EQ(weight_copies(700'000'000, 700e6, kL2), 1);
  EXPECT_EQ(weight_copies(90'000'000, 90e6, kL2), 3);   // four times the L2 in all
  EXPECT_EQ(weight_copies(340'000'000, 21e6, kL2), 5);  // a layer of few experts: two L2s pass before it returns
  EXPECT_EQ(weight_copies(1'000'000, 1e6, kL2), 8);     // so small that it is in a cache anyway
  EXPECT_EQ(weight_copies(340'000'000, 0.0, kL2), 8);
}

}  // namespace
}  // namespace tilewright::tune
