#include "cpu/cpu_experts.hpp"

#include <gtest/gtest.h>

#include "cpu/layer_fixture.hpp"

namespace tilewright::cpu {
namespace {

// The layer's contract rounds the intermediate to bf16, with a unit roundoff of 2^-9. A backend that adds in fp32 may
// round a few intermediates the other way; all together that is within what one such rounding does to the result.
constexpr double kLayerTolerance = 0x1p-9;

CpuExperts make(const ExpertWeights& layer, const Activation& activation, const CpuExpertsOptions& options) {
  auto experts = CpuExperts::create(layer, activation, options);
  if (!experts) throw std::runtime_error(experts.error().message());
  return std::move(*experts);
}

std::vector<float> run_cpu(CpuExperts& experts, const std::vector<bf16>& x, const RoutedTokens& routed) {
  std::vector<float> y(static_cast<std::size_t>(routed.tokens * experts.hidden()), std::nanf(""));
  const Status status = experts.run(x.data(), routed, y.data());
  EXPECT_TRUE(status.has_value()) << (status ? "" : status.error().message());
  return y;
}

/// Relative error in the L2 norm.
double relative_error(const std::vector<float>& y, const std::vector<double>& exact) {
  double error = 0.0;
  double norm = 0.0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    error += (y[i] - exact[i]) * (y[i] - exact[i]);
    norm += exact[i] * exact[i];
  }
  return norm == 0.0 ? std::sqrt(error) : std::sqrt(error / norm);
}

class EveryKernel : public testing::TestWithParam<std::tuple<IsaTier, Precision>> {
 protected:
  [[nodiscard]] static CpuExpertsOptions options() {
    CpuExpertsOptions options;
    options.tier = std::get<0>(GetParam());
    options.precision = std::get<1>(GetParam());
    options.threads = 2;
    options.panel_k = 256;
    return options;
  }

  static void expect_reference(const ExpertWeights& layer, const Activation& activation, const std::vector<bf16>& x,
                               const RoutedTokens& routed) {
    CpuExperts experts = make(layer, activation, options());
    const std::vector<double> exact = run(layer, activation, options().precision, x, routed);
    EXPECT_LE(relative_error(run_cpu(experts, x, routed), exact), kLayerTolerance);
  }
};

struct Shape {
  int hidden;
  int intermediate;
  int experts;
  int top_k;
  int tokens;
};

// Widths of public models after tensor parallelism that are no multiple of 64 or of a tile (nvfp4.md section 3).
TEST_P(EveryKernel, AgreesWithTheReferenceOnAwkwardShapes) {
  const Shape shapes[] = {{64, 96, 1, 1, 5},     {192, 80, 3, 2, 9},   {320, 176, 36, 4, 11}, {128, 240, 60, 6, 3},
                          {352, 368, 5, 5, 40},  {16, 16, 2, 1, 1},    {2688, 96, 3, 2, 2},   {2880, 80, 2, 2, 3},
                          {64, 48, 512, 22, 17}, {1024, 352, 4, 1, 70}};
  for (const Shape& shape : shapes) {
    SCOPED_TRACE(testing::Message() << "H " << shape.hidden << " I " << shape.intermediate << " E " << shape.experts);
    Weights weights;
    const ExpertWeights layer = weights.random_layer(shape.hidden, shape.intermediate, shape.experts, true, true);
    expect_reference(layer, {}, weights.random_rows(shape.tokens, shape.hidden),
                     weights.random_routing(shape.tokens, shape.top_k, shape.experts));
  }
}

TEST_P(EveryKernel, AgreesWithTheReferenceForEveryActivation) {
  for (const ActivationKind kind :
       {ActivationKind::silu_gated, ActivationKind::silu_gated_clamped, ActivationKind::swiglu_step,
        ActivationKind::swiglu_oai, ActivationKind::gelu_tanh_gated, ActivationKind::relu2}) {
    SCOPED_TRACE(to_string(kind));
    const Activation activation = with_limit(kind, 0.5F);
    Weights weights;
    const ExpertWeights layer = weights.random_layer(128, 112, 4, activation.gated(), false);
    expect_reference(layer, activation, weights.random_rows(7, 128), weights.random_routing(7, 2, 4));
  }
}

TEST_P(EveryKernel, TakesEveryTokenToOneExpertAndNoTokensAtAll) {
  Weights weights;
  const ExpertWeights layer = weights.random_layer(96, 64, 3, true, true);
  const std::vector<int> ids(50, 1);
  expect_reference(layer, {}, weights.random_rows(50, 96), routed_to(1, ids, std::vector<float>(50, 0.5F)));
  CpuExperts experts = make(layer, {}, options());
  EXPECT_TRUE(run_cpu(experts, {}, RoutedTokens{0, 2, {}, {}, false}).empty());
}

TEST_P(EveryKernel, ZeroesTokensWithoutASlot) {
  Weights weights;
  const ExpertWeights layer = weights.random_layer(64, 32, 2, true, true);
  CpuExperts experts = make(layer, {}, options());
  const auto y = run_cpu(experts, weights.random_rows(2, 64), routed_to(1, {-1, 0}, {9.0F, 1.0F}));
  for (int n = 0; n < 64; ++n) EXPECT_EQ(y[n], 0.0F);
  EXPECT_GT(std::fabs(y[64]), 0.0F);
}

TEST_P(EveryKernel, RunsARankOfAnExpertParallelGroup) {
  Weights weights;
  ExpertWeights layer = weights.random_layer(64, 48, 6, true, true);
  layer.first_expert = 10;
  layer.global_experts = 32;
  const RoutedTokens routed = routed_to(2, {12, 31, 9, 15, 10, 11}, {0.25F, 0.5F, 1.0F, 2.0F, 0.75F, 0.5F});
  expect_reference(layer, {}, weights.random_rows(3, 64), routed);
}

TEST_P(EveryKernel, ScalesTheInputWhereTheRouterSaysSo) {
  Weights weights;
  const ExpertWeights layer = weights.random_layer(64, 48, 4, true, true);
  RoutedTokens routed = weights.random_routing(9, 1, 4);
  routed.scale_input = true;
  expect_reference(layer, {}, weights.random_rows(9, 64), routed);
}

TEST_P(EveryKernel, AddsAnOutlierChannelToTheRest) {
  // One channel a thousand times the others, as large models have them.
  Weights weights;
  const ExpertWeights layer = weights.random_layer(256, 64, 2, true, false);
  std::vector<bf16> x = weights.random_rows(6, 256);
  for (int t = 0; t < 6; ++t) x[t * 256 + 37] = to_bf16(2000.0F);
  expect_reference(layer, {}, x, routed_to(1, {0, 1, 0, 1, 0, 1}, std::vector<float>(6, 1.0F)));
}

TEST_P(EveryKernel, GivesTheSameBitsForAnyNumberOfThreadsAndAgain) {
  Weights weights;
  const ExpertWeights layer = weights.random_layer(320, 176, 8, true, true);
  const std::vector<bf16> x = weights.random_rows(33, 320);
  const RoutedTokens routed = weights.random_routing(33, 4, 8);
  CpuExpertsOptions one = options();
  one.threads = 1;
  CpuExpertsOptions many = options();
  many.threads = 4;
  CpuExperts first = make(layer, {}, one);
  CpuExperts second = make(layer, {}, many);
  const std::vector<float> y = run_cpu(first, x, routed);
  EXPECT_EQ(run_cpu(second, x, routed), y);
  run_cpu(second, weights.random_rows(70, 320), weights.random_routing(70, 4, 8));  // another size in between
  EXPECT_EQ(run_cpu(second, x, routed), y);
}

TEST_P(EveryKernel, KeepsGateAndUpScalesApart) {
  Weights weights;
  ExpertWeights layer = weights.random_layer(64, 64, 1, true, true);
  layer.experts[0].up.global_scale = layer.experts[0].gate.global_scale * 1.25F;  // TensorRT-LLM#14199
  expect_reference(layer, {}, weights.random_rows(4, 64), routed_to(1, {0, 0, 0, 0}, {1.0F, 1.0F, 1.0F, 1.0F}));
}

INSTANTIATE_TEST_SUITE_P(EveryTierThatRunsHere, EveryKernel,
                         testing::Combine(testing::ValuesIn(available_tiers()),
                                          testing::Values(Precision::w4a16, Precision::w4a4)),
                         [](const auto& param) {
                           return std::string(to_string(std::get<0>(param.param))) + "_" +
                                  to_string(std::get<1>(param.param));
                         });

void expect_error(const Status& status, ErrorCode code, const std::string& text) {
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, code);
  EXPECT_NE(status.error().message().find(text), std::string::npos) << status.error().message();
}

TEST(CpuExperts, NamesTheTokenAndSlotThatCannotBeRun) {
  Weights weights;
  const ExpertWeights layer = weights.random_layer(32, 32, 4, true, false);
  CpuExperts experts = make(layer, {}, {});
  std::vector<bf16> x = weights.random_rows(2, 32);
  std::vector<float> y(64);
  const auto run_ids = [&](const RoutedTokens& routed) { return experts.run(x.data(), routed, y.data()); };
  expect_error(run_ids(routed_to(2, {0, 1, 2, 4}, {1, 1, 1, 1})), ErrorCode::invalid_argument,
               "token 1 slot 1 has expert id 4, outside -1 to 3");
  expect_error(run_ids(routed_to(2, {0, 1, 2, -2}, {1, 1, 1, 1})), ErrorCode::invalid_argument, "expert id -2");
  expect_error(run_ids(RoutedTokens{2, 2, {0, 1, 2}, {1, 1, 1, 1}, false}), ErrorCode::mismatch, "3 ids and 4 weights");
  expect_error(run_ids(routed_to(1, {0, 1}, {1, std::nanf("")})), ErrorCode::invalid_argument,
               "token 1 slot 0 has weight");
  x[40] = to_bf16(std::nanf(""));
  expect_error(run_ids(routed_to(1, {0, 1}, {1, 1})), ErrorCode::invalid_argument,
               "activations of token 1 are not finite");
}

TEST(CpuExperts, NamesTheExpertWhoseIntermediateOverflows) {
  Weights weights;
  ExpertWeights layer = weights.random_layer(32, 32, 2, false, false);
  layer.experts[1].up.global_scale = 1e30F;
  CpuExperts experts = make(layer, {ActivationKind::relu2, 0.0F}, {});
  const std::vector<bf16> x = weights.random_rows(1, 32);
  std::vector<float> y(32);
  expect_error(experts.run(x.data(), routed_to(1, {1}, {1.0F}), y.data()), ErrorCode::invalid_argument,
               "intermediate of expert 1 is not finite");
}

TEST(CpuExperts, RefusesAnActivationThatTheWeightsDoNotFit) {
  Weights weights;
  const auto experts =
      CpuExperts::create(weights.random_layer(32, 32, 1, false, false), {ActivationKind::silu_gated, 0.0F}, {});
  ASSERT_FALSE(experts);
  EXPECT_EQ(experts.error().code, ErrorCode::mismatch);
}

TEST(CpuExperts, RefusesAPanelThatIsNoMultipleOfAGroup) {
  Weights weights;
  CpuExpertsOptions options;
  options.panel_k = 100;
  const auto experts = CpuExperts::create(weights.random_layer(32, 32, 1, true, false), {}, options);
  ASSERT_FALSE(experts);
  EXPECT_EQ(experts.error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace tilewright::cpu
