#include "tilewright/moe_layer.hpp"

#include <gtest/gtest.h>

#include "cpu/isa.hpp"
#include "cpu/layer_fixture.hpp"

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
  EXPECT_EQ(layer.options().isa, cpu::to_string(cpu::best_tier()));
  EXPECT_EQ(layer.options().threads, 1);
  EXPECT_EQ(layer.hidden(), 64);
  EXPECT_EQ(expert_bytes(experts), 3 * 64 * 64 * 9 / 16);
  EXPECT_EQ(layer.packed_bytes(), 3 * expert_bytes(experts));  // H and I are multiples of 64: nothing is padded
}

TEST(MoeLayer, RanksOfAnExpertParallelGroupAddUpToTheWhole) {
  cpu::Weights weights;
  const ExpertWeights whole = weights.random_layer(64, 48, 8, true, true);
  const std::vector<bf16> x = weights.random_rows(5, 64);
  const RoutedTokens routed = weights.random_routing(5, 3, 8);
  std::vector<float> y(320);
  MoeLayer all = make(whole, softmax(3));
  ASSERT_TRUE(all.run(x.data(), routed, y.data()));
  std::vector<float> sum(320);
  for (int rank = 0; rank < 2; ++rank) {
    ExpertWeights part = whole;
    part.experts.assign(whole.experts.begin() + rank * 4, whole.experts.begin() + rank * 4 + 4);
    part.first_expert = rank * 4;
    MoeLayer layer = make(part, softmax(3));
    std::vector<float> partial(320);
    ASSERT_TRUE(layer.run(x.data(), routed, partial.data()));
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += partial[i];
  }
  // Only the order of adding three fp32 terms differs.
  for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(sum[i], y[i], 1e-5F * std::fabs(y[i]) + 1e-6F);
}

TEST(Backend, SaysThatThisBuildHasNoCuda) {
  EXPECT_EQ(*parse_backend("cpu"), Backend::cpu);
  const auto cuda = parse_backend("cuda");
  ASSERT_FALSE(cuda);
  EXPECT_EQ(cuda.error().code, ErrorCode::unsupported);
  const auto unknown = parse_backend("tpu");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace tilewright
