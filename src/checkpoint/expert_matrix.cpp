#include "checkpoint/expert_matrix.hpp"

#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "checkpoint/matrix_scalars.hpp"
#include "tilewright/nvfp4.hpp"

namespace tilewright {
namespace {

constexpr const char* kExportAgain = "export or download the checkpoint again";

/// Two dimensions of a tensor: the tensor itself, or one expert's part of a stacked one.
struct Plane {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  const std::uint8_t* bytes = nullptr;  ///< one byte an element, row-major
};

Result<Plane> view_plane(const MatrixPlace& place, const ExpertTensor& tensor, DType wanted, const char* what) {
  const TensorView& view = *tensor.view;
  if (view.dtype != wanted) {
    return fail(ErrorCode::mismatch,
                fmt::format("{}: {} {} is {}, not {}", place.text(), what, *tensor.name, to_string(view.dtype),
                            to_string(wanted)),
                "NVFP4 has U8 codes and F8_E4M3 block scales; use an NVFP4 export of the model");
  }
  const std::size_t dimensions = place.stacked ? 3 : 2;
  if (view.shape.size() != dimensions) {
    return fail(ErrorCode::mismatch,
                fmt::format("{}: {} {} has shape [{}], not {} dimensions", place.text(), what, *tensor.name,
                            fmt::join(view.shape, ", "), dimensions),
                kExportAgain);
  }
  if (place.stacked && view.shape[0] != place.experts) {
    return fail(ErrorCode::mismatch,
                fmt::format("{}: {} {} holds {} experts, and the layer has {}", place.text(), what, *tensor.name,
                            view.shape[0], place.experts),
                kExportAgain);
  }
  Plane plane{view.shape[dimensions - 2], view.shape[dimensions - 1], view.bytes.data()};
  if (place.stacked) plane.bytes += plane.rows * plane.cols * place.expert;
  return plane;
}

tl::unexpected<Error> missing(const MatrixPlace& place, const std::string& beside, const char* role) {
  return fail(ErrorCode::not_found, fmt::format("{}: {} has no {} beside it", place.text(), beside, role),
              kExportAgain);
}

tl::unexpected<Error> wrong_blocks(const MatrixPlace& place, const ExpertTensor& codes, const ExpertTensor& scales,
                                   const Plane& code, const Plane& scale) {
  const std::int64_t cols = code.cols * 2;
  if (scale.rows != code.rows) {
    return fail(
        ErrorCode::mismatch,
        fmt::format("{}: {} has {} rows and {} has {}", place.text(), *codes.name, code.rows, *scales.name, scale.rows),
        kExportAgain);
  }
  const std::int64_t block = scale.cols > 0 && cols % scale.cols == 0 ? cols / scale.cols : 0;
  const std::string found = block > 0 ? fmt::format("one scale for {} weights", block) : "no whole number of blocks";
  return fail(block > 0 ? ErrorCode::unsupported : ErrorCode::mismatch,
              fmt::format("{}: {} has {} weights a row and {} {} scales: {}, not one for {}", place.text(), *codes.name,
                          cols, *scales.name, scale.cols, found, kBlock),
              "NVFP4 has a scale for every 16 weights; use an NVFP4 export of the model");
}

/// A view of both planes together, before the halves of a fused matrix are told apart.
Result<Nvfp4Matrix> join_planes(const MatrixPlace& place, const ExpertTensor& codes, const ExpertTensor& scales) {
  TILEWRIGHT_ASSIGN(const Plane code, view_plane(place, codes, DType::u8, "weight"));
  TILEWRIGHT_ASSIGN(const Plane scale, view_plane(place, scales, DType::f8_e4m3, "block scale"));
  Nvfp4Matrix matrix;
  matrix.codes = code.bytes;
  matrix.scales = scale.bytes;
  if (scale.rows == code.rows && scale.cols * kBlock == code.cols * 2) {
    matrix.rows = code.rows;
    matrix.cols = code.cols * 2;
    matrix.code_row_stride = code.cols;
    matrix.scale_row_stride = scale.cols;
  } else if (place.stacked && scale.cols == code.cols && scale.rows * kBlock == code.rows * 2) {
    // Llama-4: [E, K / 2, N], the packing runs along the second dimension.
    matrix.rows = code.cols;
    matrix.cols = code.rows * 2;
    matrix.code_row_stride = 1;
    matrix.code_col_stride = code.cols;
    matrix.scale_row_stride = 1;
    matrix.scale_col_stride = scale.cols;
  } else {
    return wrong_blocks(place, codes, scales, code, scale);
  }
  if (matrix.rows == 0 || matrix.cols == 0) {
    return fail(ErrorCode::mismatch,
                fmt::format("{}: {} is empty, {} x {}", place.text(), *codes.name, matrix.rows, matrix.cols),
                kExportAgain);
  }
  matrix.valid_rows = matrix.rows;
  matrix.valid_cols = matrix.cols;
  return matrix;
}

/// The gate or the up rows of a fused matrix.
Result<Nvfp4Matrix> take_half(const MatrixPlace& place, const ExpertTensor& codes, Nvfp4Matrix matrix) {
  if (matrix.rows % 2 != 0) {
    return fail(
        ErrorCode::mismatch,
        fmt::format("{}: {} fuses gate and up in {} rows, an odd number", place.text(), *codes.name, matrix.rows),
        kExportAgain);
  }
  const std::int64_t half = matrix.rows / 2;
  const std::int64_t first = place.projection == Projection::gate ? 0 : (place.interleaved ? 1 : half);
  matrix.codes += first * matrix.code_row_stride;
  matrix.scales += first * matrix.scale_row_stride;
  if (place.interleaved) {
    matrix.code_row_stride *= 2;
    matrix.scale_row_stride *= 2;
  }
  matrix.rows = half;
  matrix.valid_rows = half;
  return matrix;
}

/// The bytes from the first to the last that a view touches.
std::span<const std::uint8_t> extent(const std::uint8_t* first, std::int64_t rows, std::int64_t row_stride,
                                     std::int64_t cols, std::int64_t col_stride) {
  return {first, static_cast<std::size_t>((rows - 1) * row_stride + (cols - 1) * col_stride + 1)};
}

bool is_fused(const MatrixPlace& place, const ExpertTensors& tensors) {
  return place.projection != Projection::down && tensors.gate_up.present();
}

}  // namespace

std::string MatrixPlace::text() const {
  return fmt::format("layer {}, expert {}, {}", layer, expert, to_string(projection));
}

MatrixPlace place_of(const LayerTensors& layer, bool interleaved, int expert, Projection projection) {
  MatrixPlace place;
  place.layer = layer.layer;
  place.expert = expert;
  place.experts = layer.experts;
  place.stacked = layer.stacked;
  place.interleaved = interleaved;
  place.projection = projection;
  return place;
}

Result<Nvfp4Matrix> view_matrix(const MatrixPlace& place, const ExpertTensors& tensors,
                                std::vector<Finding>* findings) {
  const bool fused = is_fused(place, tensors);
  const MatrixTensors& matrix_tensors = fused ? tensors.gate_up : tensors.of(place.projection);
  const ExpertTensor* codes = matrix_tensors.codes();
  const ExpertTensor* scales = matrix_tensors.find(TensorRole::block_scale);
  const bool modelopt = matrix_tensors.dialect() == Dialect::modelopt;
  if (codes == nullptr) {
    return fail(ErrorCode::not_found,
                fmt::format("{}: the tensor {} is missing", place.text(), modelopt ? "weight" : "weight_packed"),
                kExportAgain);
  }
  if (scales == nullptr) return missing(place, *codes->name, "weight_scale");
  TILEWRIGHT_ASSIGN(Nvfp4Matrix matrix, join_planes(place, *codes, *scales));
  if (fused) {
    TILEWRIGHT_ASSIGN(matrix, take_half(place, *codes, matrix));
  }
  const ExpertTensor* global =
      matrix_tensors.find(modelopt ? TensorRole::global_scale : TensorRole::global_scale_reciprocal);
  if (global == nullptr) return missing(place, *codes->name, modelopt ? "weight_scale_2" : "weight_global_scale");
  TILEWRIGHT_ASSIGN(matrix.global_scale, read_global_scale(place, *global, !modelopt, fused, findings));
  return matrix;
}

void release_matrix(const TensorFiles& files, const Nvfp4Matrix& matrix) {
  if (matrix.valid_rows == 0 || matrix.valid_cols == 0) return;
  files.release(
      extent(matrix.codes, matrix.valid_rows, matrix.code_row_stride, matrix.valid_cols / 2, matrix.code_col_stride));
  files.release(extent(matrix.scales, matrix.valid_rows, matrix.scale_row_stride, matrix.valid_cols / kBlock,
                       matrix.scale_col_stride));
}

Result<std::optional<float>> read_input_scale(const MatrixPlace& place, const ExpertTensors& tensors) {
  const bool fused = is_fused(place, tensors);
  const MatrixTensors& matrix_tensors = fused ? tensors.gate_up : tensors.of(place.projection);
  const ExpertTensor* multiplier = matrix_tensors.find(TensorRole::input_scale);
  const ExpertTensor* reciprocal = matrix_tensors.find(TensorRole::input_scale_reciprocal);
  if (multiplier == nullptr && reciprocal == nullptr) return std::optional<float>();
  const bool inverted = multiplier == nullptr;
  const ExpertTensor& tensor = inverted ? *reciprocal : *multiplier;
  TILEWRIGHT_ASSIGN(const float value, read_scalar(place, tensor, fused));
  if (value == 0.0F) return std::optional<float>();
  const float scale = inverted ? 1.0F / value : value;
  if (std::isfinite(scale) && scale > 0.0F) return std::optional<float>(scale);
  return fail(ErrorCode::corrupt,
              fmt::format("{}: input scale {} is {}, not a finite value above 0", place.text(), *tensor.name, value),
              "calibrate the model again, or remove the tensor to quantize activations dynamically");
}

}  // namespace tilewright
