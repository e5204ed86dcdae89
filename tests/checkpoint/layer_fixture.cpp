#include "checkpoint/layer_fixture.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

#include <gtest/gtest.h>

namespace tilewright::testing {
namespace {

MatrixBytes random_matrix(std::int64_t rows, std::int64_t cols, std::mt19937& random) {
  MatrixBytes matrix;
  matrix.rows = rows;
  matrix.cols = cols;
  matrix.codes.resize(static_cast<std::size_t>(rows * cols / 2));
  matrix.scales.resize(static_cast<std::size_t>(rows * cols / 16));
  for (auto& byte : matrix.codes) byte = static_cast<std::uint8_t>(random());
  for (auto& byte : matrix.scales) byte = static_cast<std::uint8_t>(random() % 0x7F);
  matrix.global_scale = std::ldexp(1.0F, -10 - static_cast<int>(random() % 4));
  matrix.input_scale = std::ldexp(1.0F, -6 - static_cast<int>(random() % 4));
  return matrix;
}

void add_matrix(TensorSet& set, const MatrixBytes& matrix, const std::string& name, Dialect dialect) {
  const bool modelopt = dialect == Dialect::modelopt;
  set.add(name + (modelopt ? ".weight" : ".weight_packed"), DType::u8, {matrix.rows, matrix.cols / 2}, matrix.codes);
  set.add(name + ".weight_scale", DType::f8_e4m3, {matrix.rows, matrix.cols / 16}, matrix.scales);
  const std::vector<std::int64_t> shape = modelopt ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{1};
  const auto stored = [&](float multiplier) { return modelopt ? multiplier : 1.0F / multiplier; };
  set.add_floats(name + (modelopt ? ".weight_scale_2" : ".weight_global_scale"), shape, {stored(matrix.global_scale)});
  if (!matrix.input_scale) return;
  set.add_floats(name + (modelopt ? ".input_scale" : ".input_global_scale"), shape, {stored(*matrix.input_scale)});
}

/// The rows of a fused matrix in file order: (matrix, row).
struct RowOf {
  const MatrixBytes* matrix;
  std::int64_t row;
};

std::vector<RowOf> fused_rows(const ExpertBytes& expert, RowOrder order) {
  std::vector<RowOf> rows;
  for (std::int64_t r = 0; r < expert.up.rows; ++r) {
    rows.push_back({&expert.gate, r});
    if (order == RowOrder::interleaved) rows.push_back({&expert.up, r});
  }
  if (order == RowOrder::gate_then_up) {
    for (std::int64_t r = 0; r < expert.up.rows; ++r) rows.push_back({&expert.up, r});
  }
  return rows;
}

std::vector<RowOf> plain_rows(const MatrixBytes& matrix) {
  std::vector<RowOf> rows;
  for (std::int64_t r = 0; r < matrix.rows; ++r) rows.push_back({&matrix, r});
  return rows;
}

/// Appends the bytes of rows of `width` bytes each, row-major or transposed.
void append(std::vector<std::uint8_t>& out, const std::vector<RowOf>& rows, bool codes, Order order) {
  const auto byte = [&](const RowOf& from, std::int64_t col) {
    const std::int64_t width = from.matrix->cols / (codes ? 2 : 16);
    const auto& bytes = codes ? from.matrix->codes : from.matrix->scales;
    return bytes[static_cast<std::size_t>(from.row * width + col)];
  };
  const std::int64_t width = rows.front().matrix->cols / (codes ? 2 : 16);
  if (order == Order::plain) {
    for (const RowOf& row : rows) {
      for (std::int64_t col = 0; col < width; ++col) out.push_back(byte(row, col));
    }
  } else {
    for (std::int64_t col = 0; col < width; ++col) {
      for (const RowOf& row : rows) out.push_back(byte(row, col));
    }
  }
}

struct StackNames {
  std::string codes, scales, global, input;
};

void add_stack(TensorSet& set, const std::vector<std::vector<RowOf>>& experts, const StackNames& names, Order order,
               Dialect dialect) {
  const auto stored = [&](float multiplier) { return dialect == Dialect::modelopt ? multiplier : 1.0F / multiplier; };
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
  std::vector<float> globals;
  std::vector<float> inputs;
  for (const auto& rows : experts) {
    append(codes, rows, true, order);
    append(scales, rows, false, order);
    globals.push_back(stored(rows.front().matrix->global_scale));
    inputs.push_back(stored(*rows.front().matrix->input_scale));
  }
  const auto count = static_cast<std::int64_t>(experts.size());
  const auto rows = static_cast<std::int64_t>(experts.front().size());
  const std::int64_t cols = experts.front().front().matrix->cols;
  const auto shape = [&](std::int64_t width) {
    return order == Order::plain ? std::vector<std::int64_t>{count, rows, width}
                                 : std::vector<std::int64_t>{count, width, rows};
  };
  set.add(names.codes, DType::u8, shape(cols / 2), std::move(codes));
  set.add(names.scales, DType::f8_e4m3, shape(cols / 16), std::move(scales));
  set.add_floats(names.global, {count}, globals);
  set.add_floats(names.input, {count}, inputs);
}

}  // namespace

void TensorSet::remove(const std::string& name) {
  const auto found = std::find_if(tensors_.begin(), tensors_.end(), [&](const auto& t) { return t.name == name; });
  if (found == tensors_.end()) throw std::logic_error("no tensor " + name);
  tensors_.erase(found);
}

void TensorSet::change(const std::string& name, const std::function<void(std::vector<std::uint8_t>&)>& edit) {
  const auto found = std::find_if(tensors_.begin(), tensors_.end(), [&](const auto& t) { return t.name == name; });
  if (found == tensors_.end()) throw std::logic_error("no tensor " + name);
  TensorData tensor = *found;
  std::vector<std::uint8_t> bytes(tensor.bytes.begin(), tensor.bytes.end());
  edit(bytes);
  set(name, tensor.dtype, tensor.shape, std::move(bytes));
}

LayerBytes random_layer(int experts, std::int64_t hidden, std::int64_t intermediate, bool gated, unsigned seed) {
  std::mt19937 random(seed);
  LayerBytes layer{hidden, intermediate, gated, {}};
  for (int e = 0; e < experts; ++e) {
    ExpertBytes expert;
    if (gated) expert.gate = random_matrix(intermediate, hidden, random);
    expert.up = random_matrix(intermediate, hidden, random);
    expert.down = random_matrix(hidden, intermediate, random);
    if (gated) expert.up.global_scale = expert.gate.global_scale;  // as exporters do; tests that differ say so
    if (gated) expert.up.input_scale = expert.gate.input_scale;
    layer.experts.push_back(std::move(expert));
  }
  return layer;
}

void add_single(TensorSet& set, const LayerBytes& layer, const std::string& prefix, Dialect dialect,
                const Names& names) {
  for (std::size_t e = 0; e < layer.experts.size(); ++e) {
    const std::string expert = prefix + "." + std::to_string(e) + ".";
    if (layer.gated) add_matrix(set, layer.experts[e].gate, expert + names.gate, dialect);
    add_matrix(set, layer.experts[e].up, expert + names.up, dialect);
    add_matrix(set, layer.experts[e].down, expert + names.down, dialect);
  }
}

void add_stacked(TensorSet& set, const LayerBytes& layer, const std::string& prefix, RowOrder rows, Order order,
                 Dialect dialect) {
  const auto names = [&](const std::string& projection) {
    const std::string name = prefix + "." + projection;
    if (dialect == Dialect::modelopt) {
      return StackNames{name, name + "_weight_scale", name + "_weight_scale_2", name + "_input_scale"};
    }
    return StackNames{name + "_packed", name + "_scale", name + "_global_scale", name + "_input_global_scale"};
  };
  std::vector<std::vector<RowOf>> fused;
  std::vector<std::vector<RowOf>> down;
  for (const ExpertBytes& expert : layer.experts) {
    fused.push_back(fused_rows(expert, rows));
    down.push_back(plain_rows(expert.down));
  }
  add_stack(set, fused, names("gate_up_proj"), order, dialect);
  add_stack(set, down, names("down_proj"), order, dialect);
}

void add_stacked_projections(TensorSet& set, const LayerBytes& layer, const std::string& prefix) {
  const auto add = [&](const std::string& projection, MatrixBytes ExpertBytes::*matrix) {
    const std::string name = prefix + "." + projection;
    std::vector<std::vector<RowOf>> rows;
    for (const ExpertBytes& expert : layer.experts) rows.push_back(plain_rows(expert.*matrix));
    add_stack(set, rows, {name + ".weight", name + ".weight_scale", name + ".weight_scale_2", name + ".input_scale"},
              Order::plain, Dialect::modelopt);
  };
  add("gate_proj", &ExpertBytes::gate);
  add("up_proj", &ExpertBytes::up);
  add("down_proj", &ExpertBytes::down);
}

void expect_equal(const Nvfp4Matrix& matrix, const MatrixBytes& expected, const std::string& what) {
  SCOPED_TRACE(what);
  ASSERT_EQ(matrix.rows, expected.rows);
  ASSERT_EQ(matrix.cols, expected.cols);
  EXPECT_EQ(matrix.global_scale, expected.global_scale);
  EXPECT_EQ(matrix.input_scale, expected.input_scale);
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(expected.cols / 2));
  std::vector<std::uint8_t> scales(static_cast<std::size_t>(expected.cols / 16));
  for (std::int64_t row = 0; row < expected.rows; ++row) {
    matrix.read_row(row, codes.data(), scales.data());
    ASSERT_TRUE(std::equal(codes.begin(), codes.end(), expected.codes.begin() + row * expected.cols / 2))
        << "codes of row " << row;
    ASSERT_TRUE(std::equal(scales.begin(), scales.end(), expected.scales.begin() + row * expected.cols / 16))
        << "scales of row " << row;
  }
}

void expect_equal(const ExpertWeights& weights, const LayerBytes& expected) {
  EXPECT_EQ(weights.hidden, expected.hidden);
  EXPECT_EQ(weights.intermediate, expected.intermediate);
  EXPECT_EQ(weights.gated, expected.gated);
  EXPECT_EQ(weights.first_expert, 0);
  EXPECT_EQ(weights.global_experts, static_cast<int>(expected.experts.size()));
  ASSERT_EQ(weights.experts.size(), expected.experts.size());
  for (std::size_t e = 0; e < expected.experts.size(); ++e) {
    const std::string expert = "expert " + std::to_string(e);
    if (expected.gated) expect_equal(weights.experts[e].gate, expected.experts[e].gate, expert + " gate");
    EXPECT_EQ(weights.experts[e].gate.empty(), !expected.gated) << expert;
    expect_equal(weights.experts[e].up, expected.experts[e].up, expert + " up");
    expect_equal(weights.experts[e].down, expected.experts[e].down, expert + " down");
  }
}

}  // namespace tilewright::testing
