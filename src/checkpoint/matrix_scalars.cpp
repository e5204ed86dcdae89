#include "checkpoint/matrix_scalars.hpp"

#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilewright {
namespace {

// A multiplier is amax / 2688: 1e-5 to 1e-3 in trained models. The other convention's value, its reciprocal, is 1e3 to
// 1e5. Above 1 the largest weight would pass 2688: odd. Above 64 it would pass 172,032: the wrong convention.
constexpr float kOddMultiplier = 1.0F;
constexpr float kImpossibleMultiplier = 64.0F;

}  // namespace

Result<float> read_scalar(const MatrixPlace& place, const ExpertTensor& tensor, bool fused) {
  const TensorView& view = *tensor.view;
  if (view.dtype != DType::f32) {
    return fail(ErrorCode::mismatch,
                fmt::format("{}: {} is {}, not F32", place.text(), *tensor.name, to_string(view.dtype)),
                "use an NVFP4 export of the model");
  }
  const std::int64_t experts = place.stacked ? place.experts : 1;
  const std::int64_t count = view.elements();
  const bool halves = fused && count == 2 * experts;
  if (count != 1 && count != experts && !halves) {
    return fail(ErrorCode::unsupported,
                fmt::format("{}: {} has shape [{}], not one value a matrix", place.text(), *tensor.name,
                            fmt::join(view.shape, ", ")),
                "NVFP4 has one second-level scale a matrix; use an NVFP4 export of the model");
  }
  std::int64_t at = place.stacked && count > 1 ? place.expert : 0;
  if (halves) at = 2 * at + (place.projection == Projection::up ? 1 : 0);
  float value = 0.0F;
  std::memcpy(&value, view.bytes.data() + at * static_cast<std::int64_t>(sizeof(float)), sizeof(float));
  return value;
}

Result<float> read_global_scale(const MatrixPlace& place, const ExpertTensor& tensor, bool reciprocal, bool fused,
                                std::vector<Finding>* findings) {
  TILEWRIGHT_ASSIGN(const float value, read_scalar(place, tensor, fused));
  const float scale = reciprocal ? 1.0F / value : value;
  if (!std::isfinite(value) || value <= 0.0F || !std::isfinite(scale)) {
    return fail(ErrorCode::corrupt,
                fmt::format("{}: global scale {} is {}, not a finite value above 0", place.text(), *tensor.name, value),
                "quantize the model again; tilewright inspect lists every such scale");
  }
  if (scale <= kOddMultiplier) return scale;
  const std::string cause =
      fmt::format("{}: {} is {}, which as {} means a largest weight of {:.4g}", place.text(), *tensor.name, value,
                  reciprocal ? "2688 / amax" : "amax / 2688", scale * 2688.0F);
  if (scale >= kImpossibleMultiplier) {
    return fail(ErrorCode::mismatch, cause,
                reciprocal ? "the file seems to store amax / 2688, ModelOpt's weight_scale_2, under this name"
                           : "the file seems to store 2688 / amax, compressed-tensors' weight_global_scale, "
                             "under this name");
  }
  if (findings != nullptr) findings->push_back({"global_scale_odd", cause});
  return scale;
}

}  // namespace tilewright
