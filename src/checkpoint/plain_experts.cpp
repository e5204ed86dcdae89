#include "checkpoint/plain_experts.hpp"

#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "checkpoint/tensor_values.hpp"
#include "tilewright/nvfp4.hpp"

namespace tilewright {
namespace {

tl::unexpected<Error> wrong_shape(const ExpertTensor& tensor, const char* wanted) {
  return fail(ErrorCode::mismatch,
              fmt::format("{} has shape [{}], not {}", *tensor.name, fmt::join(tensor.view->shape, ", "), wanted),
              "give a checkpoint whose experts are complete");
}

Status check_weight(const ExpertTensor& tensor) {
  if (!is_floating(tensor.view->dtype)) {
    return fail(ErrorCode::unsupported,
                fmt::format("{} is {}, not BF16, F16 or F32", *tensor.name, to_string(tensor.view->dtype)),
                "give the model before it was quantized");
  }
  const std::size_t dimensions = tensor.expert == kStacked ? 3 : 2;
  if (tensor.view->shape.size() != dimensions) {
    return wrong_shape(tensor, dimensions == 3 ? "[experts, rows, columns]" : "[rows, columns]");
  }
  if (tensor.view->elements() == 0) return wrong_shape(tensor, "of any element");
  return {};
}

/// "model.layers.0.mlp.experts.3.gate_proj" for expert 3 of a stacked tensor.
std::string stacked_module(const std::string& tensor, std::int64_t expert, const char* projection) {
  const std::string marker = ".experts.";
  const std::size_t experts = tensor.rfind(marker);
  const std::string prefix =
      experts != std::string::npos ? tensor.substr(0, experts) : tensor.substr(0, tensor.rfind(".moe.") + 4);
  return fmt::format("{}.experts.{}.{}", prefix, expert, projection);
}

PlainMatrix single_matrix(const ExpertTensor& tensor) {
  PlainMatrix matrix;
  matrix.tensor = tensor.name;
  matrix.view = tensor.view;
  matrix.module = tensor.name->substr(0, tensor.name->rfind(".weight"));
  matrix.rows = tensor.view->shape[0];
  matrix.cols = tensor.view->shape[1];
  matrix.row_stride = matrix.cols;
  return matrix;
}

/// One expert of a stack, [N, K] or transposed [K, N].
PlainMatrix stacked_matrix(const ExpertTensor& tensor, std::int64_t expert, bool transposed) {
  const std::int64_t a = tensor.view->shape[1];
  const std::int64_t b = tensor.view->shape[2];
  PlainMatrix matrix;
  matrix.tensor = tensor.name;
  matrix.view = tensor.view;
  matrix.module = stacked_module(*tensor.name, expert, to_string(tensor.projection));
  matrix.first = expert * a * b;
  matrix.rows = transposed ? b : a;
  matrix.cols = transposed ? a : b;
  matrix.row_stride = transposed ? 1 : b;
  matrix.col_stride = transposed ? b : 1;
  return matrix;
}

/// Gate or up of a fused matrix.
PlainMatrix take_half(const ExpertTensor& tensor, PlainMatrix matrix, Projection half, bool interleaved,
                      std::int64_t expert) {
  const std::int64_t rows = matrix.rows / 2;
  const std::int64_t first_row = half == Projection::gate ? 0 : (interleaved ? 1 : rows);
  matrix.module = stacked_module(*tensor.name, expert, to_string(half));
  matrix.first += first_row * matrix.row_stride;
  if (interleaved) matrix.row_stride *= 2;
  matrix.rows = rows;
  return matrix;
}

/// Whether a layer's stacks are [E, K, N]: gate_up then has twice as many columns as down has rows, else twice as many
/// rows as down has columns. Both cannot hold at once.
Result<bool> stacks_are_transposed(const ExpertTensor& gate_up, const ExpertTensor& down) {
  const auto& in = gate_up.view->shape;
  const auto& out = down.view->shape;
  if (in[0] == out[0] && in[1] == 2 * out[2] && in[2] == out[1]) return false;
  if (in[0] == out[0] && in[2] == 2 * out[1] && in[1] == out[2]) return true;
  return fail(ErrorCode::mismatch,
              fmt::format("{} has shape [{}] and {} [{}]: not [E, 2 I, H] and [E, H, I], nor transposed", *gate_up.name,
                          fmt::join(in, ", "), *down.name, fmt::join(out, ", ")),
              "give a checkpoint whose experts are complete");
}

class ExpertCollector {
 public:
  explicit ExpertCollector(bool interleaved) : interleaved_(interleaved) {}

  Status add_layer(const LayerIndex& layer) {
    const ExpertTensor* fused = nullptr;
    const ExpertTensor* stacked_down = nullptr;
    for (const ExpertTensor& tensor : layer.tensors) {
      if (tensor.role != TensorRole::weight || tensor.projection == Projection::unknown) continue;
      TILEWRIGHT_TRY(check_weight(tensor));
      if (tensor.expert != kStacked) {
        TILEWRIGHT_TRY(add_single(tensor));
      } else if (tensor.projection == Projection::gate_up) {
        fused = &tensor;
      } else if (tensor.projection == Projection::down) {
        stacked_down = &tensor;
      } else {
        TILEWRIGHT_TRY(add_stack(tensor, false));
      }
    }
    bool transposed = false;
    if (fused != nullptr && stacked_down != nullptr) {
      TILEWRIGHT_ASSIGN(transposed, stacks_are_transposed(*fused, *stacked_down));
    }
    if (fused != nullptr && stacked_down == nullptr)
      return wrong_shape(*fused, "complete without a down_proj beside it");
    if (fused != nullptr) TILEWRIGHT_TRY(add_fused(*fused, transposed));
    if (stacked_down != nullptr) TILEWRIGHT_TRY(add_stack(*stacked_down, transposed));
    pair_gates();
    return {};
  }

  [[nodiscard]] std::vector<PlainMatrix> take() { return std::move(matrices_); }

 private:
  struct Pair {
    int gate = -1;
    int up = -1;
  };

  Status add(const ExpertTensor& tensor, PlainMatrix matrix, std::int64_t expert, Projection projection) {
    if (matrix.cols % kBlock != 0) {
      return fail(ErrorCode::unsupported,
                  fmt::format("{} has {} columns, not a multiple of 16", *tensor.name, matrix.cols),
                  "NVFP4 needs whole blocks of 16; pad the model first");
    }
    const int index = static_cast<int>(matrices_.size());
    if (projection == Projection::gate) pairs_[expert].gate = index;
    if (projection == Projection::up) pairs_[expert].up = index;
    matrices_.push_back(std::move(matrix));
    return {};
  }

  Status add_single(const ExpertTensor& tensor) {
    if (tensor.projection == Projection::gate_up) {
      return fail(ErrorCode::unsupported, fmt::format("{} fuses gate and up of one expert", *tensor.name),
                  "split it into gate_proj and up_proj first");
    }
    return add(tensor, single_matrix(tensor), tensor.expert, tensor.projection);
  }

  Status add_stack(const ExpertTensor& tensor, bool transposed) {
    for (std::int64_t expert = 0; expert < tensor.view->shape[0]; ++expert) {
      TILEWRIGHT_TRY(add(tensor, stacked_matrix(tensor, expert, transposed), expert, tensor.projection));
    }
    return {};
  }

  Status add_fused(const ExpertTensor& tensor, bool transposed) {
    for (std::int64_t expert = 0; expert < tensor.view->shape[0]; ++expert) {
      const PlainMatrix both = stacked_matrix(tensor, expert, transposed);
      for (const Projection half : {Projection::gate, Projection::up}) {
        TILEWRIGHT_TRY(add(tensor, take_half(tensor, both, half, interleaved_, expert), expert, half));
      }
    }
    return {};
  }

  void pair_gates() {
    for (const auto& entry : pairs_) {
      const Pair& pair = entry.second;
      if (pair.gate < 0 || pair.up < 0) continue;
      matrices_[static_cast<std::size_t>(pair.gate)].partner = pair.up;
      matrices_[static_cast<std::size_t>(pair.up)].partner = pair.gate;
    }
    pairs_.clear();
  }

  bool interleaved_;
  std::vector<PlainMatrix> matrices_;
  std::map<std::int64_t, Pair> pairs_;  ///< of the layer at hand, by expert
};

}  // namespace

void PlainMatrix::read_row(std::int64_t row, std::span<float> out) const {
  const auto size = static_cast<std::int64_t>(size_of(view->dtype));
  const std::uint8_t* bytes = view->bytes.data() + element(row, 0) * size;
  if (col_stride == 1) {
    convert_values(view->dtype, bytes, out);
    return;
  }
  for (std::size_t col = 0; col < out.size(); ++col) {
    convert_values(view->dtype, bytes + static_cast<std::int64_t>(col) * col_stride * size, out.subspan(col, 1));
  }
}

Result<std::vector<PlainMatrix>> find_plain_experts(const std::vector<LayerIndex>& index, bool interleaved) {
  ExpertCollector collector(interleaved);
  for (const LayerIndex& layer : index) TILEWRIGHT_TRY(collector.add_layer(layer));
  std::vector<PlainMatrix> matrices = collector.take();
  if (!matrices.empty()) return matrices;
  return fail(ErrorCode::not_found, "no routed experts are among the tensors",
              "experts are named ...layers.L....experts.E.{gate,up,down}_proj.weight, w1/w3/w2 or stacked "
              "experts.gate_up_proj");
}

}  // namespace tilewright
