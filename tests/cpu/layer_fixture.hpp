// Small NVFP4 layers for tests: built from values, sliced and padded as views, and run by the plain formula.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <random>
#include <vector>

#include "cpu/activation_math.hpp"
#include "cpu/reference.hpp"
#include "numerics/input_scales.hpp"
#include "tilewright/nvfp4.hpp"

namespace tilewright::cpu {

/// Owns the bytes behind the matrices that it makes; a fixed seed.
class Weights {
 public:
  using Value = std::function<float(int n, int k)>;

  /// Codes of value(n, k), block scales of scale(n, block).
  Nvfp4Matrix matrix(int rows, int cols, const Value& value, const Value& scale, float global_scale) {
    std::vector<std::uint8_t>& bytes = allocate(rows * cols / 2 + rows * cols / kBlock);
    Nvfp4Matrix matrix = view(bytes, rows, cols);
    matrix.global_scale = global_scale;
    for (int n = 0; n < rows; ++n) {
      for (int k = 0; k < cols; ++k) {
        const auto code = static_cast<unsigned>(encode_e2m1(value(n, k)));
        bytes[(n * cols + k) / 2] = static_cast<std::uint8_t>(bytes[(n * cols + k) / 2] | code << (k % 2 * 4));
      }
      for (int b = 0; b < cols / kBlock; ++b) {
        bytes[rows * cols / 2 + n * cols / kBlock + b] = encode_ue4m3(scale(n, b));
      }
    }
    return matrix;
  }

  Nvfp4Matrix random_matrix(int rows, int cols, float global_scale) {
    return matrix(
        rows, cols, [&](int, int) { return kE2m1Values[random_() % 16]; },
        [&](int, int) { return 0.25F * static_cast<float>(1 + random_() % 24); }, global_scale);
  }

  static ExpertWeights empty_layer(int hidden, int intermediate, int experts) {
    ExpertWeights layer;
    layer.hidden = hidden;
    layer.intermediate = intermediate;
    layer.global_experts = experts;
    return layer;
  }

  /// Experts with scales of their own each; `input_scale` of all matrices where it is not 0.
  ExpertWeights random_layer(int hidden, int intermediate, int experts, bool gated, bool static_scales,
                             float input_scale = 0.0F) {
    ExpertWeights layer = empty_layer(hidden, intermediate, experts);
    layer.gated = gated;
    for (int e = 0; e < experts; ++e) {
      Nvfp4Expert expert;
      if (gated) expert.gate = random_matrix(intermediate, hidden, random_float(0.004F, 0.008F));
      expert.up = random_matrix(intermediate, hidden, random_float(0.004F, 0.008F));
      expert.down = random_matrix(hidden, intermediate, random_float(0.004F, 0.008F));
      for (Nvfp4Matrix* matrix : {&expert.gate, &expert.up, &expert.down}) {
        if (!static_scales || matrix->empty()) continue;
        matrix->input_scale = input_scale != 0.0F ? input_scale : random_float(2.0F, 8.0F) / kNvfp4Max;
      }
      layer.experts.push_back(expert);
    }
    return layer;
  }

  std::vector<bf16> random_rows(int tokens, int hidden) {
    std::vector<bf16> x;
    for (int i = 0; i < tokens * hidden; ++i) x.push_back(to_bf16(random_float(-2.0F, 2.0F)));
    return x;
  }

  /// Experts drawn with repetition, and some slots of -1.
  RoutedTokens random_routing(int tokens, int top_k, int experts) {
    RoutedTokens routed{tokens, top_k, {}, {}, false};
    for (int i = 0; i < tokens * top_k; ++i) {
      routed.ids.push_back(static_cast<int>(random_() % (experts + 1)) - 1);
      routed.weights.push_back(random_float(0.1F, 1.0F));
    }
    return routed;
  }

  /// The same matrix as the valid part of a larger one whose other bytes are 0x7F.
  Nvfp4Matrix padded(const Nvfp4Matrix& matrix, int rows, int cols) {
    std::vector<std::uint8_t>& bytes = allocate(rows * cols / 2 + rows * cols / kBlock);
    std::fill(bytes.begin(), bytes.end(), std::uint8_t{0x7F});
    Nvfp4Matrix larger = view(bytes, rows, cols);
    larger.valid_rows = matrix.rows;
    larger.valid_cols = matrix.cols;
    larger.global_scale = matrix.global_scale;
    larger.input_scale = matrix.input_scale;
    for (std::int64_t n = 0; n < matrix.rows; ++n) {
      matrix.read_row(n, bytes.data() + n * cols / 2, bytes.data() + rows * cols / 2 + n * cols / kBlock);
    }
    return larger;
  }

 private:
  std::vector<std::uint8_t>& allocate(int bytes) { return storage_.emplace_back(static_cast<std::size_t>(bytes)); }

  static Nvfp4Matrix view(const std::vector<std::uint8_t>& bytes, int rows, int cols) {
    Nvfp4Matrix matrix;
    matrix.codes = bytes.data();
    matrix.scales = bytes.data() + rows * cols / 2;
    matrix.rows = matrix.valid_rows = rows;
    matrix.cols = matrix.valid_cols = cols;
    matrix.code_row_stride = cols / 2;
    matrix.scale_row_stride = cols / kBlock;
    return matrix;
  }

  float random_float(float low, float high) {
    return low + (high - low) * static_cast<float>(random_() >> 8U) * 0x1p-24F;
  }

  std::deque<std::vector<std::uint8_t>> storage_;
  std::mt19937 random_{20240607};
};

/// The kind with `limit` where it has one.
inline Activation with_limit(ActivationKind kind, float limit) {
  Activation activation{kind, 0.0F};
  if (activation.has_limit()) activation.limit = limit;
  return activation;
}

inline Nvfp4Matrix rows_of(Nvfp4Matrix matrix, int begin, int count) {
  matrix.codes += begin * matrix.code_row_stride;
  matrix.scales += begin * matrix.scale_row_stride;
  matrix.rows = matrix.valid_rows = count;
  return matrix;
}

inline Nvfp4Matrix cols_of(Nvfp4Matrix matrix, int begin, int count) {
  matrix.codes += begin / 2 * matrix.code_col_stride;
  matrix.scales += begin / kBlock * matrix.scale_col_stride;
  matrix.cols = matrix.valid_cols = count;
  return matrix;
}

inline RoutedTokens routed_to(int top_k, const std::vector<int>& ids, const std::vector<float>& weights) {
  return RoutedTokens{static_cast<int>(ids.size()) / top_k, top_k, {ids.begin(), ids.end()}, weights, false};
}

/// reference_layer's y, on poisoned memory; a failure of the test where it refuses.
inline std::vector<double> run(const ExpertWeights& layer, const Activation& activation, Precision precision,
                               const std::vector<bf16>& x, const RoutedTokens& routed, int threads = 2) {
  std::vector<double> y(static_cast<std::size_t>(routed.tokens * layer.hidden), std::nan(""));
  const auto status = reference_layer(layer, activation, precision, x.data(), routed, y.data(), {threads});
  EXPECT_TRUE(status.has_value()) << (status ? "" : status.error().message());
  return y;
}

/// W x in double, one term after the other.
inline std::vector<double> plain_gemm(const Nvfp4Matrix& matrix, const std::vector<double>& x) {
  std::vector<double> y;
  for (std::int64_t n = 0; n < matrix.rows; ++n) {
    double sum = 0.0;
    for (std::int64_t k = 0; k < matrix.cols; ++k) {
      const unsigned pair = matrix.codes[n * matrix.code_row_stride + k / 2];
      const double code = kE2m1Values[k % 2 == 0 ? pair & 15U : pair >> 4U];
      sum += x[k] * code * decode_ue4m3(matrix.scales[n * matrix.scale_row_stride + k / kBlock]);
    }
    y.push_back(sum * matrix.global_scale);
  }
  return y;
}

/// The row as GEMM sees it: itself, or quantized and back.
inline std::vector<double> operand(const std::vector<float>& row, Precision precision, std::optional<float> fixed) {
  if (precision == Precision::w4a16) return {row.begin(), row.end()};
  float amax = 0.0F;
  for (const float v : row) amax = std::max(amax, std::abs(v));
  const float scale = fixed ? *fixed : amax / 2688.0F;
  std::vector<std::uint8_t> codes(row.size() / 2);
  std::vector<std::uint8_t> scales(row.size() / kBlock);
  quantize_row(row, 1.0F / scale, codes, scales);
  std::vector<double> values;
  for (std::size_t k = 0; k < row.size(); ++k) {
    const unsigned pair = codes[k / 2];
    values.push_back(static_cast<double>(kE2m1Values[k % 2 == 0 ? pair & 15U : pair >> 4U]) *
                     decode_ue4m3(scales[k / kBlock]) * scale);
  }
  return values;
}

/// The layer token by token and slot by slot.
inline std::vector<double> plain_layer(const ExpertWeights& layer, const Activation& activation, Precision precision,
                                       const std::vector<bf16>& x, const RoutedTokens& routed) {
  std::optional<float> shared;
  for (const Nvfp4Expert& expert : layer.experts) {
    if (expert.up.input_scale) shared = std::max(shared.value_or(0.0F), *expert.up.input_scale);
    if (expert.gate.input_scale) shared = std::max(shared.value_or(0.0F), *expert.gate.input_scale);
  }
  std::vector<double> y(static_cast<std::size_t>(routed.tokens * layer.hidden), 0.0);
  for (int slot = 0; slot < routed.tokens * routed.top_k; ++slot) {
    if (routed.ids[slot] < 0) continue;
    const Nvfp4Expert& expert = layer.experts[routed.ids[slot]];
    const std::int64_t first = slot / routed.top_k * layer.hidden;
    std::vector<float> row;
    for (std::int64_t k = 0; k < layer.hidden; ++k) {
      const float value = to_float(x[first + k]);
      row.push_back(routed.scale_input ? round_to_bf16(value * routed.weights[slot]) : value);
    }
    const std::vector<double> input = operand(row, precision, shared);
    const std::vector<double> gate = plain_gemm(expert.gate, input);
    const std::vector<double> up = plain_gemm(expert.up, input);
    std::vector<float> intermediate;
    for (std::size_t n = 0; n < up.size(); ++n) {
      intermediate.push_back(to_float(nearest_bf16(activate<double>(activation, layer.gated ? gate[n] : 0.0, up[n]))));
    }
    const std::vector<double> down = plain_gemm(expert.down, operand(intermediate, precision, expert.down.input_scale));
    for (std::int64_t n = 0; n < layer.hidden; ++n) {
      y[first + n] += (routed.scale_input ? 1.0 : routed.weights[slot]) * down[n];
    }
  }
  return y;
}

inline double largest(const std::vector<double>& values) {
  double result = 0.0;
  for (const double v : values) result = std::max(result, std::abs(v));
  return result;
}

/// Equal but for the order of a few hundred additions in double: 2^-53 each, of the largest value and what cancelled.
inline void expect_close(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  ASSERT_GT(largest(b), 0.0);
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-12 * largest(b)) << i;
}

/// Different by far more than any rounding: 1 % of the largest value at least.
inline void expect_far(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  double difference = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) difference = std::max(difference, std::abs(a[i] - b[i]));
  EXPECT_GT(difference, 0.01 * largest(a));
}

}  // namespace tilewright::cpu
