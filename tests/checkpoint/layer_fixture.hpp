// A small layer of NVFP4 experts with known bytes, and writers for every way in which checkpoints store one.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tilewright/checkpoint.hpp"

namespace tilewright::testing {

/// Tensors to write, with the bytes behind them.
class TensorSet {
 public:
  void add(const std::string& name, DType dtype, std::vector<std::int64_t> shape, std::vector<std::uint8_t> bytes) {
    buffers_.push_back(std::make_shared<const std::vector<std::uint8_t>>(std::move(bytes)));
    tensors_.push_back({name, dtype, std::move(shape), *buffers_.back()});
  }
  void add_floats(const std::string& name, std::vector<std::int64_t> shape, const std::vector<float>& values) {
    std::vector<std::uint8_t> bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    add(name, DType::f32, std::move(shape), std::move(bytes));
  }
  /// Removes the tensor of that name; its absence would make a test vacuous, so that is fatal.
  void remove(const std::string& name);
  /// Replaces a tensor.
  void set(const std::string& name, DType dtype, std::vector<std::int64_t> shape, std::vector<std::uint8_t> bytes) {
    remove(name);
    add(name, dtype, std::move(shape), std::move(bytes));
  }
  void set_float(const std::string& name, float value) {
    remove(name);
    add_floats(name, {}, {value});
  }
  /// Changes the bytes of a tensor in place.
  void change(const std::string& name, const std::function<void(std::vector<std::uint8_t>&)>& edit);

  [[nodiscard]] const std::vector<TensorData>& tensors() const { return tensors_; }

 private:
  std::vector<std::shared_ptr<const std::vector<std::uint8_t>>> buffers_;  ///< shared by copies, whose views stay good
  std::vector<TensorData> tensors_;
};

struct MatrixBytes {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<std::uint8_t> codes;   ///< [rows, cols / 2]
  std::vector<std::uint8_t> scales;  ///< [rows, cols / 16]
  float global_scale = 1.0F;
  std::optional<float> input_scale;
};

struct ExpertBytes {
  MatrixBytes gate, up, down;
};

struct LayerBytes {
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;
  bool gated = true;
  std::vector<ExpertBytes> experts;
};

/// Random codes and legal scales. The global scales are powers of two, so that both dialects store them exactly.
LayerBytes random_layer(int experts, std::int64_t hidden, std::int64_t intermediate, bool gated, unsigned seed);

/// Names of the three projections.
struct Names {
  std::string gate = "gate_proj", up = "up_proj", down = "down_proj";
};
inline const Names kLetters{"w1", "w3", "w2"};

/// One tensor a matrix: "<prefix>.<e>.<projection>.<role>"; `prefix` ends in "experts".
void add_single(TensorSet& set, const LayerBytes& layer, const std::string& prefix, Dialect dialect,
                const Names& names = {});

enum class RowOrder { gate_then_up, interleaved };
enum class Order { plain, transposed };

/// All experts in "<prefix>.gate_up_proj" and "<prefix>.down_proj", with "_weight_scale" and so on; under
/// compressed-tensors "_packed", "_scale" and so on.
void add_stacked(TensorSet& set, const LayerBytes& layer, const std::string& prefix, RowOrder rows, Order order,
                 Dialect dialect = Dialect::modelopt);

/// Step's "<prefix>.<projection>.weight" of [E, N, K / 2].
void add_stacked_projections(TensorSet& set, const LayerBytes& layer, const std::string& prefix);

/// Fails the test where `matrix` is not `expected`, bit for bit.
void expect_equal(const Nvfp4Matrix& matrix, const MatrixBytes& expected, const std::string& what);
void expect_equal(const ExpertWeights& weights, const LayerBytes& expected);

}  // namespace tilewright::testing
