#include "cpu/reference.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>

#include "cpu/activation_math.hpp"
#include "cpu/layer_fixture.hpp"
#include "numerics/input_scales.hpp"

namespace tilewright::cpu {
namespace {

TEST(NearestBf16, RoundsOnceWhereFloatWouldRoundTwice) {
  // Just above the middle of 1 and 1 + 2^-7: fp32 drops the 2^-40, and the tie then goes to even.
  EXPECT_EQ(to_float(nearest_bf16(1.0 + 0x1p-8 + 0x1p-40)), 1.0F + 0x1p-7F);
  EXPECT_EQ(to_float(nearest_bf16(-1.0 - 0x1p-8 - 0x1p-40)), -1.0F - 0x1p-7F);
  // Just below the middle of 1 + 2^-7 and 1 + 2^-6, whose tie goes up.
  EXPECT_EQ(to_float(nearest_bf16(1.0 + 0x1p-7 + 0x1p-8 - 0x1p-40)), 1.0F + 0x1p-7F);
}

TEST(NearestBf16, AgreesWithFloatWhereTheValueIsAFloat) {
  for (std::uint64_t bits = 0; bits < 0x100000000ULL; bits += 12347) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (std::isnan(x)) continue;
    ASSERT_EQ(nearest_bf16(x).bits, to_bf16(x).bits) << x;
  }
  EXPECT_TRUE(std::isnan(to_float(nearest_bf16(std::numeric_limits<double>::quiet_NaN()))));
  EXPECT_EQ(to_float(nearest_bf16(1e300)), std::numeric_limits<float>::infinity());
}

TEST(ReferenceGemm, MultipliesCodesBlockScalesAndTheGlobalScale) {
  Weights weights;
  // Row 0: 1, 2, 3, 4 then zeros; row 1: 6 everywhere. Scales: blocks of 2 and of 0.5.
  const auto matrix = weights.matrix(
      2, 32, [](int n, int k) { return n == 1  ? 6.0F
                                       : k < 4 ? static_cast<float>(k + 1)
                                               : 0.0F; },
      [](int, int block) { return block == 0 ? 2.0F : 0.5F; }, 0.25F);
  std::vector<double> x(32, 1.0);
  x[2] = -10.0;
  std::vector<double> y(2);
  ASSERT_TRUE(reference_gemm(matrix, x, y));
  EXPECT_EQ(y[0], 0.25 * 2.0 * (1 + 2 - 30 + 4));
  EXPECT_EQ(y[1], 0.25 * (2.0 * 6 * (15 - 10) + 0.5 * 6 * 16));
}

// vllm-xpu-kernels#553: a kernel that applies the first scale of a 32-wide tile to both blocks.
TEST(ReferenceGemm, TakesEachBlockOfItsOwnScale) {
  Weights weights;
  const auto matrix = weights.matrix(
      1, 32, [](int, int) { return 1.0F; }, [](int, int block) { return block == 0 ? 0.25F : 256.0F; }, 1.0F);
  std::vector<double> y(1);
  ASSERT_TRUE(reference_gemm(matrix, std::vector<double>(32, 1.0), y));
  EXPECT_EQ(y[0], 16 * 0.25 + 16 * 256.0);
}

TEST(ReferenceGemm, RefusesSizesThatDoNotAgree) {
  Weights weights;
  const auto matrix = weights.random_matrix(2, 32, 1.0F);
  std::vector<double> y(2);
  const auto status = reference_gemm(matrix, std::vector<double>(16, 1.0), y);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::mismatch);
  EXPECT_NE(status.error().cause.find("2 x 32 matrix with 16 inputs"), std::string::npos);
}

TEST(ReferenceLayer, OneExpertByHand) {
  Weights weights;
  const auto diagonal = [](float value) { return [value](int n, int k) { return n == k ? value : 0.0F; }; };
  const auto ones = [](int, int) { return 1.0F; };
  ExpertWeights layer = weights.empty_layer(16, 16, 1);
  layer.experts.push_back({weights.matrix(16, 16, diagonal(2.0F), ones, 0.5F),
                           weights.matrix(16, 16, diagonal(3.0F), ones, 1.0F),
                           weights.matrix(16, 16, diagonal(1.0F), ones, 2.0F)});
  std::vector<bf16> x;
  for (int k = 0; k < 16; ++k) x.push_back(to_bf16(static_cast<float>(k - 8) / 4.0F));
  const auto y = run(layer, {}, Precision::w4a16, x, routed_to(1, {0}, {0.5F}));
  for (int k = 0; k < 16; ++k) {
    const double v = to_float(x[k]);
    const double intermediate = to_float(nearest_bf16(v / (1.0 + std::exp(-v)) * 3.0 * v));
    EXPECT_EQ(y[k], 0.5 * 2.0 * intermediate) << k;
  }
}

/// Every activation, precision and kind of input scale.
TEST(ReferenceLayer, MatchesThePlainFormula) {
  for (const auto kind : {ActivationKind::silu_gated, ActivationKind::silu_gated_clamped, ActivationKind::swiglu_step,
                          ActivationKind::swiglu_oai, ActivationKind::gelu_tanh_gated, ActivationKind::relu2}) {
    const Activation activation{kind, 1.5F};
    for (const bool static_scales : {false, true}) {
      for (const auto precision : {Precision::w4a16, Precision::w4a4}) {
        Weights weights;
        const ExpertWeights layer = weights.random_layer(48, 80, 5, activation.gated(), static_scales);
        const auto x = weights.random_rows(7, 48);
        const RoutedTokens routed = weights.random_routing(7, 3, 5);
        expect_close(run(layer, activation, precision, x, routed),
                     plain_layer(layer, activation, precision, x, routed));
      }
    }
  }
}

TEST(ReferenceLayer, MatchesThePlainFormulaAtOddSizes) {
  for (const int intermediate : {16, 80, 96, 176, 352}) {
    Weights weights;
    const ExpertWeights layer = weights.random_layer(160, intermediate, 3, true, true);
    const auto x = weights.random_rows(3, 160);
    const RoutedTokens routed = weights.random_routing(3, 2, 3);
    expect_close(run(layer, {}, Precision::w4a4, x, routed), plain_layer(layer, {}, Precision::w4a4, x, routed));
  }
}

TEST(ReferenceLayer, TheResultDoesNotDependOnTheNumberOfThreads) {
  Weights weights;
  const ExpertWeights layer = weights.random_layer(96, 112, 6, true, false);
  const auto x = weights.random_rows(20, 96);
  const RoutedTokens routed = weights.random_routing(20, 4, 6);
  for (const auto precision : {Precision::w4a16, Precision::w4a4}) {
    EXPECT_EQ(run(layer, {}, precision, x, routed, 1), run(layer, {}, precision, x, routed, 5));
  }
}

TEST(ReferenceLayer, ExpertParallelSlicesSumToTheWhole) {
  for (const auto precision : {Precision::w4a16, Precision::w4a4}) {
    Weights weights;
    const ExpertWeights layer = weights.random_layer(32, 48, 7, true, true, 1.0F);
    const auto x = weights.random_rows(9, 32);
    const RoutedTokens routed = weights.random_routing(9, 3, 7);
    std::vector<double> sum(9 * 32, 0.0);
    for (const auto& [first, end] : {std::pair{0, 3}, {3, 5}, {5, 7}}) {
      ExpertWeights slice = layer;
      slice.first_expert = first;
      slice.experts.assign(layer.experts.begin() + first, layer.experts.begin() + end);
      const auto part = run(slice, {}, precision, x, routed);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
    }
    expect_close(sum, run(layer, {}, precision, x, routed));
  }
}

TEST(ReferenceLayer, TensorParallelSlicesSumToTheWhole) {
  for (const auto precision : {Precision::w4a16, Precision::w4a4}) {
    Weights weights;
    const ExpertWeights layer = weights.random_layer(32, 96, 4, true, true);
    const auto x = weights.random_rows(5, 32);
    const RoutedTokens routed = weights.random_routing(5, 2, 4);
    std::vector<double> sum(5 * 32, 0.0);
    for (const int begin : {0, 32, 64}) {
      ExpertWeights slice = layer;
      slice.intermediate = 32;
      for (Nvfp4Expert& expert : slice.experts) {
        expert = {rows_of(expert.gate, begin, 32), rows_of(expert.up, begin, 32), cols_of(expert.down, begin, 32)};
      }
      const auto part = run(slice, {}, precision, x, routed);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
    }
    expect_close(sum, run(layer, {}, precision, x, routed));
  }
}

// What lies behind the valid part of a padded view is 0x7F, a NaN scale: it must never be read.
TEST(ReferenceLayer, PaddingHasNoEffect) {
  for (const auto precision : {Precision::w4a16, Precision::w4a4}) {
    Weights weights;
    const ExpertWeights layer = weights.random_layer(32, 48, 3, true, true);
    ExpertWeights padded = layer;
    padded.intermediate = 80;
    for (Nvfp4Expert& expert : padded.experts) {
      expert = {weights.padded(expert.gate, 80, 32), weights.padded(expert.up, 80, 32),
                weights.padded(expert.down, 32, 80)};
    }
    const auto x = weights.random_rows(4, 32);
    const RoutedTokens routed = weights.random_routing(4, 2, 3);
    EXPECT_EQ(run(padded, {}, precision, x, routed), run(layer, {}, precision, x, routed));
  }
}

TEST(ReferenceLayer, NoTokensWriteNothing) {
  Weights weights;
  const ExpertWeights layer = weights.random_layer(32, 48, 3, true, true);
  EXPECT_TRUE(run(layer, {}, Precision::w4a4, {}, routed_to(2, {}, {})).empty());
}

TEST(ReferenceLayer, AllTokensToOneExpertAreEachTokenAlone) {
  Weights weights;
  const ExpertWeights layer = weights.random_layer(32, 48, 3, true, false);
  const auto x = weights.random_rows(33, 32);
  const auto all =
      run(layer, {}, Precision::w4a4, x, routed_to(1, std::vector<int>(33, 2), std::vector<float>(33, 0.75F)));
  for (int t = 0; t < 33; ++t) {
    const std::vector<bf16> row(x.begin() + t * 32, x.begin() + (t + 1) * 32);
    EXPECT_EQ(std::vector<double>(all.begin() + t * 32, all.begin() + (t + 1) * 32),
              run(layer, {}, Precision::w4a4, row, routed_to(1, {2}, {0.75F})));
  }
}

TEST(ReferenceLayer, SlotsOfMinusOneAddNothing) {
  Weights weights;
  const ExpertWeights layer = weights.random_layer(32, 48, 3, true, true);
  const auto x = weights.random_rows(2, 32);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto y = run(layer, {}, Precision::w4a16, x, routed_to(2, {-1, 1, -1, -1}, {nan, 0.5F, nan, nan}));
  const auto first = run(layer, {}, Precision::w4a16, {x.begin(), x.begin() + 32}, routed_to(1, {1}, {0.5F}));
  EXPECT_EQ(std::vector<double>(y.begin(), y.begin() + 32), first);
  EXPECT_EQ(std::vector<double>(y.begin() + 32, y.end()), std::vector<double>(32, 0.0));
}

// TensorRT-LLM#14199: checkpoints whose gate and up differ in their global scale, run with gate's for both.
TEST(ReferenceLayer, GateAndUpKeepTheirOwnGlobalScales) {
  Weights weights;
  ExpertWeights layer = weights.random_layer(32, 48, 2, true, true);
  layer.experts[1].up.global_scale = layer.experts[1].gate.global_scale * 1.25F;
  const auto x = weights.random_rows(1, 32);
  const RoutedTokens routed = routed_to(1, {1}, {1.0F});
  const auto right = run(layer, {}, Precision::w4a16, x, routed);
  expect_close(right, plain_layer(layer, {}, Precision::w4a16, x, routed));
  layer.experts[1].up.global_scale = layer.experts[1].gate.global_scale;
  expect_far(right, run(layer, {}, Precision::w4a16, x, routed));
}

TEST(ReferenceLayer, SwappedGateAndUpGiveAnotherResult) {
  Weights weights;
  ExpertWeights layer = weights.random_layer(32, 48, 1, true, true);
  const auto x = weights.random_rows(1, 32);
  const RoutedTokens routed = routed_to(1, {0}, {1.0F});
  const auto right = run(layer, {}, Precision::w4a16, x, routed);
  std::swap(layer.experts[0].gate, layer.experts[0].up);
  expect_far(right, run(layer, {}, Precision::w4a16, x, routed));
}

TEST(ReferenceLayer, AScaledInputGoesThroughTheActivation) {
  Weights weights;
  const ExpertWeights layer = weights.random_layer(32, 48, 2, true, false);
  const auto x = weights.random_rows(3, 32);
  for (const auto precision : {Precision::w4a16, Precision::w4a4}) {
    RoutedTokens routed = routed_to(2, {0, 1, 1, 0, -1, 1}, {0.3F, 0.6F, 0.9F, 0.2F, 0.1F, 0.7F});
    const auto on_output = run(layer, {}, precision, x, routed);
    routed.scale_input = true;
    const auto on_input = run(layer, {}, precision, x, routed);
    expect_close(on_input, plain_layer(layer, {}, precision, x, routed));
    expect_far(on_input, on_output);
  }
}

TEST(ReferenceLayer, OneInputScaleServesGemm1OfAllExperts) {
  Weights weights;
  ExpertWeights layer = weights.random_layer(32, 48, 3, true, true);
  const auto x = weights.random_rows(1, 32);
  const RoutedTokens routed = routed_to(1, {0}, {1.0F});
  const auto before = run(layer, {}, Precision::w4a4, x, routed);
  const float largest = *gemm1_input_scale(layer);
  layer.experts[2].up.input_scale = largest * 3.0F;
  EXPECT_EQ(*gemm1_input_scale(layer), largest * 3.0F);
  EXPECT_NE(run(layer, {}, Precision::w4a4, x, routed), before);
  layer.experts[2].up.input_scale = largest;
  layer.experts[2].down.input_scale = largest * 3.0F;
  EXPECT_EQ(run(layer, {}, Precision::w4a4, x, routed), before);
}

TEST(ReferenceLayer, TheLayersInputScaleWinsOverTheLocalExperts) {
  Weights weights;
  ExpertWeights layer = weights.random_layer(32, 48, 3, true, true);
  const float local = *gemm1_input_scale(layer);
  layer.layer_input_scale = local * 3.0F;
  EXPECT_EQ(*gemm1_input_scale(layer), local * 3.0F);
}

TEST(ReferenceLayer, ARowOfZerosIsQuantizedToZeros) {
  Weights weights;
  const ExpertWeights layer = weights.random_layer(32, 48, 1, true, false);
  const auto y = run(layer, {}, Precision::w4a4, std::vector<bf16>(32), routed_to(1, {0}, {1.0F}));
  EXPECT_EQ(y, std::vector<double>(32, 0.0));
}

TEST(InputScales, ARowIsScaledByItsMaximumOrBy1) {
  EXPECT_EQ(row_input_scale(std::nullopt, std::vector<float>{1.0F, -2688.0F, 3.0F}), 1.0F);
  EXPECT_EQ(row_input_scale(std::nullopt, std::vector<float>{-0.0F, 1344.0F}), 0.5F);
  EXPECT_EQ(row_input_scale(std::nullopt, std::vector<float>{0.0F, -0.0F}), 1.0F);
  EXPECT_EQ(row_input_scale(std::nullopt, std::vector<float>{1e-37F}), 1.0F);
  EXPECT_EQ(row_input_scale(0.125F, std::vector<float>{5.0F}), 0.125F);
}

}  // namespace
}  // namespace tilewright::cpu
