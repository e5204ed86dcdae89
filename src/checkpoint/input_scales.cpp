#include "checkpoint/input_scales.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace tilewright {
namespace {

/// Matrices that see the same activations.
using Projections = std::vector<Projection>;

struct Gaps {
  int count = 0;
  MatrixPlace first;
};

MatrixPlace place_of(const LayerTensors& layer, int expert, Projection projection) {
  MatrixPlace place;
  place.layer = layer.layer;
  place.expert = expert;
  place.experts = layer.experts;
  place.stacked = layer.stacked;
  place.projection = projection;
  return place;
}

Nvfp4Matrix& matrix_of(Nvfp4Expert& expert, Projection projection) {
  if (projection == Projection::gate) return expert.gate;
  return projection == Projection::up ? expert.up : expert.down;
}

bool has_scale_tensor(const LayerTensors& layer, int expert, Projection projection) {
  const ExpertTensors& tensors = layer.of(expert);
  const bool fused = projection != Projection::down && tensors.gate_up.present();
  const MatrixTensors& matrix = fused ? tensors.gate_up : tensors.of(projection);
  return matrix.find(TensorRole::input_scale) != nullptr || matrix.find(TensorRole::input_scale_reciprocal) != nullptr;
}

/// The largest scale over all experts of the layer, local or not; `any_tensor` tells whether there is a tensor at all.
Result<std::optional<float>> largest_scale(const LayerTensors& layer, const Projections& projections,
                                           bool& any_tensor) {
  std::optional<float> largest;
  for (int expert = 0; expert < layer.experts; ++expert) {
    for (const Projection projection : projections) {
      any_tensor = any_tensor || has_scale_tensor(layer, expert, projection);
      TILEWRIGHT_ASSIGN(const auto scale, read_input_scale(place_of(layer, expert, projection), layer.of(expert)));
      if (scale) largest = std::max(largest.value_or(0.0F), *scale);
    }
  }
  return largest;
}

Status fill(const LayerTensors& layer, const Projections& projections, const Gaps& gaps,
            std::vector<Nvfp4Expert>& experts, std::vector<Finding>* findings) {
  bool any_tensor = false;
  TILEWRIGHT_ASSIGN(const auto largest, largest_scale(layer, projections, any_tensor));
  if (largest) {
    for (Nvfp4Expert& expert : experts) {
      for (const Projection projection : projections) {
        auto& scale = matrix_of(expert, projection).input_scale;
        if (!scale) scale = largest;
      }
    }
  }
  if (findings == nullptr || !any_tensor) return {};
  if (largest) {
    findings->push_back({"input_scale_filled",
                         fmt::format("{} has no input scale, first of {} matrices: filled with {:.6g}, the largest of "
                                     "its siblings",
                                     gaps.first.text(), gaps.count, *largest)});
  } else {
    findings->push_back(
        {"input_scale_unused", fmt::format("{}: every input scale of the layer is 0, so that activations are quantized "
                                           "dynamically",
                                           gaps.first.text())});
  }
  return {};
}

}  // namespace

Status set_input_scales(const LayerTensors& layer, const ExpertRange& range, std::vector<Nvfp4Expert>& experts,
                        std::vector<Finding>* findings) {
  const Projections first = layer.gated ? Projections{Projection::gate, Projection::up} : Projections{Projection::up};
  for (const Projections& projections : {first, Projections{Projection::down}}) {
    Gaps gaps;
    for (int local = 0; local < range.count; ++local) {
      const int expert = range.first + local;
      for (const Projection projection : projections) {
        const MatrixPlace place = place_of(layer, expert, projection);
        TILEWRIGHT_ASSIGN(const auto scale, read_input_scale(place, layer.of(expert)));
        matrix_of(experts[static_cast<std::size_t>(local)], projection).input_scale = scale;
        if (!scale && gaps.count++ == 0) gaps.first = place;
      }
    }
    if (gaps.count > 0) TILEWRIGHT_TRY(fill(layer, projections, gaps, experts, findings));
  }
  return {};
}

}  // namespace tilewright
