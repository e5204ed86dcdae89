// The experts of a checkpoint that is not quantized, matrix by matrix.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/expert_index.hpp"
#include "tilewright/safetensors.hpp"

namespace tilewright {

/// One matrix inside a tensor of BF16, F16 or F32. Strides are in elements.
struct PlainMatrix {
  std::string module;                   ///< its name when it stands alone: "...experts.3.gate_proj"
  const std::string* tensor = nullptr;  ///< the tensor that holds it
  const TensorView* view = nullptr;
  std::int64_t first = 0;  ///< element of the tensor
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_stride = 0;
  std::int64_t col_stride = 1;
  int partner = -1;  ///< the up of a gate and the other way round: an index into the list

  /// Row `row` as fp32.
  void read_row(std::int64_t row, std::span<float> out) const;
  /// The tensor's element number of a row and column.
  [[nodiscard]] std::int64_t element(std::int64_t row, std::int64_t col) const {
    return first + row * row_stride + col * col_stride;
  }
};

/// Every matrix of every layer's routed experts. Errors: a dtype that is not floating, sizes that do not fit, columns
/// that are no multiple of 16, no experts at all. `interleaved` says that fused rows alternate gate, up.
Result<std::vector<PlainMatrix>> find_plain_experts(const std::vector<LayerIndex>& index, bool interleaved);

}  // namespace tilewright
