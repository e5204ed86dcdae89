#include "tilewright/moe_layer.hpp"

#include <gtest/gtest.h>

#include "cpu/isa.hpp"
#include "cpu/layer_fixture.hpp"
#include "tilewright/cuda_layer.hpp"

namespace tilewright {
namespace {

Routing softmax(int top_k) {
  Routing routing;
  routing.top_k = top_k;
  return routing;
}

MoeLayer make(const ExpertWeights& weights, const Routing& routing, const MoeLayerOptions& options = {}) {
  auto layer = MoeLayer::create(weights, {}, routing, options);
  if (!layer) throw std::runtime_error(layer.error().message());
  return std::move(*layer);
}

TEST(MoeLayer, RoutesLogitsAndRunsTheExpertsThatWon) {
  cpu::Weights weights;
  const ExpertWeights experts = weights.random_layer(64, 48, 4, true, true);
  MoeLayer layer = make(experts, softmax(2));
  const std::vector<bf16> x = weights.random_rows(2, 64);
  const std::vector<float> logits = {0.0F, 3.0F, 1.0F, -1.0F, 2.0F, 2.0F, 5.0F, 0.0F};
  std::vector<float> from_logits(128);
  ASSERT_TRUE(layer.run(x.data(), 2, logits.data(), {}, from_logits.data()));
  const auto routed = route(softmax(2), logits.data(), 2, 4);
  ASSERT_TRUE(routed);
  EXPECT_EQ(routed->ids, (std::vector<std::int32_t>{1, 2, 2, 0}));
  std::vector<float> from_ids(128);
  ASSERT_TRUE(layer.run(x.data(), *routed, from_ids.data()));
  EXPECT_EQ(from_logits, from_ids);
}

TEST(MoeLayer, PassesOnWhatRoutingRefuses) {
  cpu::Weights weights;
  MoeLayer layer = make(weights.random_layer(32, 32, 2, true, false), softmax(1));
  const std::vector<bf16> x = weights.random_rows(1, 32);
  const std::vector<float> logits = {0.0F, std::nanf("")};
  std::vector<float> y(32);
  const Status status = layer.run(x.data(), 1, logits.data(), {}, y.data());
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message().find("token 0"), std::string::npos) << status.error().message();
}

TEST(MoeLayer, SaysWhatItRunsOn) {
  cpu::Weights weights;
  const ExpertWeights experts = weights.random_layer(64, 64, 3, true, false);
  MoeLayerOptions options;
  options.precision = Precision::w4a4;
  options.threads = 1;
  const MoeLayer layer = make(experts, softmax(1), options);
  EXPECT_EQ(layer.cuda(), nullptr);
  EXPECT_EQ(layer.options().isa, cpu::to_string(cpu::best_tier()));
  EXPECT_EQ(layer.options().threads, 1);
  EXPECT_EQ(layer.hidden(), 64);
  EXPECT_EQ(expert_bytes(experts), 3 * 64 * 64 * 9 / 16);
  EXPECT_EQ(layer.packed_bytes(), 3 * expert_bytes(experts));  // H and I are multiples of 64: nothing is padded
}

/// The outputs of two ranks that hold one half of the experts each, added.
std::vector<float> sum_of_two_ranks(const ExpertWeights& whole, const MoeLayerOptions& options,
                                    const std::vector<bf16>& x, const RoutedTokens& routed) {
  const auto half = static_cast<int>(whole.experts.size() / 2);
  std::vector<float> sum(static_cast<std::size_t>(routed.tokens * whole.hidden));
  for (int rank = 0; rank < 2; ++rank) {
    ExpertWeights part = whole;
    part.experts.assign(whole.experts.begin() + rank * half, whole.experts.begin() + (rank + 1) * half);
    part.first_expert = rank * half;
    MoeLayer layer = make(part, softmax(routed.top_k), options);
    std::vector<float> partial(sum.size());
    EXPECT_TRUE(layer.run(x.data(), routed, partial.data()));
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += partial[i];
  }
  return sum;
}

/// Only the order of adding three fp32 terms differs.
float most_by_order(float y) { return 1e-5F * std::fabs(y) + 1e-6F; }

TEST(MoeLayer, RanksOfAnExpertParallelGroupAddUpToTheWhole) {
  cpu::Weights weights;
  const ExpertWeights whole = weights.random_layer(64, 48, 8, true, true);
  const std::vector<bf16> x = weights.random_rows(5, 64);
  const RoutedTokens routed = weights.random_routing(5, 3, 8);
  std::vector<float> y(320);
  MoeLayer all = make(whole, softmax(3));
  ASSERT_TRUE(all.run(x.data(), routed, y.data()));
  const std::vector<float> sum = sum_of_two_ranks(whole, {}, x, routed);
  for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(sum[i], y[i], most_by_order(y[i]));
}

// Public reports of shared input scales under expert parallelism: https://github.com/vllm-project/vllm/pull/26135
TEST(MoeLayer, RanksQuantizeActivationsAlikeWhereTheirExpertsInputScalesDiffer) {
  cpu::Weights weights;
  ExpertWeights whole = weights.random_layer(64, 48, 8, true, true);
  whole.experts[6].up.input_scale = 5.0F * *gemm1_input_scale(whole);  // of the second rank only
  const std::vector<bf16> x = weights.random_rows(5, 64);
  const RoutedTokens routed = weights.random_routing(5, 3, 8);
  MoeLayerOptions options;
  options.precision = Precision::w4a4;
  std::vector<float> y(320);
  MoeLayer all = make(whole, softmax(3), options);
  ASSERT_TRUE(all.run(x.data(), routed, y.data()));

  const std::vector<float> apart = sum_of_two_ranks(whole, options, x, routed);
  bool differs = false;
  for (std::size_t i = 0; i < y.size(); ++i) differs = differs || std::fabs(apart[i] - y[i]) > most_by_order(y[i]);
  EXPECT_TRUE(differs) << "the scales of this test do not tell ranks apart";

  whole.layer_input_scale = gemm1_input_scale(whole);
  const std::vector<float> sum = sum_of_two_ranks(whole, options, x, routed);
  for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(sum[i], y[i], most_by_order(y[i]));
}

TEST(Backend, IsFoundByTheNameThatItPrintsAndAnotherNameListsBoth) {
  for (const Backend backend : {Backend::cpu, Backend::cuda}) EXPECT_EQ(*parse_backend(to_string(backend)), backend);
  for (const char* name : {"tpu", "", "CUDA", "cuda "}) {
    const auto unknown = parse_backend(name);
    ASSERT_FALSE(unknown) << name;
    EXPECT_EQ(unknown.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(unknown.error().message().find("cpu, cuda"), std::string::npos) << unknown.error().message();
  }
}

void expect_refused(const MoeLayerOptions& options, ErrorCode code, const std::string& words) {
  cpu::Weights weights;
  const auto layer = MoeLayer::create(weights.random_layer(64, 48, 2, true, true), {}, softmax(1), options);
  ASSERT_FALSE(layer);
  EXPECT_EQ(layer.error().code, code);
  EXPECT_NE(layer.error().message().find(words), std::string::npos) << layer.error().message();
  const Status checked = check_options(options);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message(), layer.error().message());
}

TEST(CudaBackend, RefusesTheCpusSettings) {
  MoeLayerOptions options;
  options.backend = Backend::cuda;
  options.isa = "avx2";
  expect_refused(options, ErrorCode::invalid_argument, "avx2");
  options.isa = "";
  options.threads = 2;
  expect_refused(options, ErrorCode::invalid_argument, "2 threads");
}

TEST(CpuBackend, RefusesTheSettingsOfKernelsForGpus) {
  MoeLayerOptions options;
  options.arch = Arch::sm_120;
  expect_refused(options, ErrorCode::invalid_argument, "arch sm_120");
  options.arch.reset();
  options.emulate_mma = true;
  expect_refused(options, ErrorCode::invalid_argument, "emulated MMA");
}

TEST(CudaBackend, SaysWhyItIsNotHereWhereItIsNot) {
  const Status available = cuda_available();
  if (available) GTEST_SKIP() << "there is a GPU";
  MoeLayerOptions options;
  options.backend = Backend::cuda;
  expect_refused(options, ErrorCode::unsupported, available.error().cause);
}

}  // namespace
}  // namespace tilewright
