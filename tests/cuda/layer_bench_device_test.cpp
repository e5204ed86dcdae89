// The timing of layers on a GPU. Where there is none that the kernels are built for, every test is skipped and says
// why.
#include <gtest/gtest.h>

#include <limits>

#include "cpu/layer_fixture.hpp"
#include "cuda/meter/gpu_limits.hpp"
#include "cuda/meter/meter.hpp"
#include "cuda/moe/layer_bench.hpp"

namespace tilewright::cuda {
namespace {

class LayerBenchOnDevice : public testing::Test {
 protected:
  void SetUp() override {
    const Status available = cuda_available();
    if (!available) GTEST_SKIP() << available.error().message();
    weights_ = source_.random_layer(256, 128, 8, true, true);
    Routing routing;
    routing.top_k = 2;
    for (int i = 0; i < 2; ++i) {
      auto layer = CudaLayer::create(weights_, {}, routing);
      ASSERT_TRUE(layer) << layer.error().message();
      layers_.push_back(std::move(*layer));
    }
    x_ = source_.random_rows(kTokens, 256);
  }

  [[nodiscard]] Result<ReplayTimes> time(const ReplayOptions& options) {
    const std::vector<const CudaLayer*> copies = {&layers_[0], &layers_[1]};
    const auto routing = [](int layer) {
      RoutedTokens routed{kTokens, 2, {}, std::vector<float>(2 * kTokens, 0.5F), false};
      for (int i = 0; i < 2 * kTokens; ++i) routed.ids.push_back((layer + i) % 8);
      return routed;
    };
    return time_replays(copies, x_, kTokens, routing, options);
  }

  static constexpr int kTokens = 5;
  cpu::Weights source_;
  ExpertWeights weights_;
  std::vector<CudaLayer> layers_;
  std::vector<bf16> x_;
};

TEST_F(LayerBenchOnDevice, MeasuresRatesThatAnSm90Has) {
  const auto limits = measure_gpu(Precision::w4a16);
  ASSERT_TRUE(limits) << limits.error().message();
  EXPECT_GT(limits->sm_count, 0);
  EXPECT_GT(limits->l2_bytes, std::int64_t{20} << 20U);
  EXPECT_GT(limits->read_GBps, 1000.0);  // an H100 PCIe has 2,000 by its data sheet, an H200 4,800
  EXPECT_LT(limits->read_GBps, 4900.0);
  EXPECT_GT(limits->matrix_tflops, 300.0);  // 989 at most: dense bf16 of an H100 SXM
  EXPECT_LT(limits->matrix_tflops, 1000.0);
  EXPECT_EQ(limits->matrix, "bf16 wgmma");
}

TEST_F(LayerBenchOnDevice, MeasuresLessByMmaSyncThanByWgmma) {
  const auto wgmma = measure_gpu(Precision::w4a16);
  ASSERT_TRUE(wgmma) << wgmma.error().message();
  const auto mma = measure_bf16_mma_tflops(wgmma->sm_count);
  ASSERT_TRUE(mma) << mma.error().message();
  EXPECT_GT(*mma, 0.3 * wgmma->matrix_tflops);
  EXPECT_LT(*mma, wgmma->matrix_tflops);
}

TEST_F(LayerBenchOnDevice, TimesGraphsAndLaunchesOfAsManyLayersAsTheTimeAsks) {
  for (const bool graph : {true, false}) {
    const auto few = time({graph, 1.0, 3});
    ASSERT_TRUE(few) << few.error().message();
    EXPECT_EQ(few->layers, 4);
    EXPECT_EQ(few->us.size(), 3U);
    const auto many = time({graph, 2e3, 9});
    ASSERT_TRUE(many) << many.error().message();
    EXPECT_GT(many->layers, 8);
    EXPECT_EQ(many->us.size(), 9U);
    for (const double us : many->us) EXPECT_GT(us, 0.0);
    EXPECT_EQ(many->schedules, layers_[0].schedules(kTokens));
  }
}

TEST_F(LayerBenchOnDevice, SaysThatOutputsAreNotFinite) {
  x_[3] = to_bf16(std::numeric_limits<float>::quiet_NaN());
  const auto times = time({true, 1.0, 3});
  ASSERT_FALSE(times);
  EXPECT_EQ(times.error().code, ErrorCode::mismatch);
  EXPECT_NE(times.error().message().find("256 of 1280"), std::string::npos) << times.error().message();
}

}  // namespace
}  // namespace tilewright::cuda
