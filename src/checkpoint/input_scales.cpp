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

/// What all experts of the layer say, local or not.
struct LayerScale {
  std::optional<float> largest;
  bool any_tensor = false;  ///< whether there is a tensor at all
};

Result<LayerScale> largest_scale(const LayerTensors& layer, const Projections& projections) {
  LayerScale found;
  for (int expert = 0; expert < layer.experts; ++expert) {
    for (const Projection projection : projections) {
      found.any_tensor = found.any_tensor || has_scale_tensor(layer, expert, projection);
      TILEWRIGHT_ASSIGN(const auto scale,
                        read_input_scale(place_of(layer, false, expert, projection), layer.of(expert)));
      if (scale) found.largest = std::max(found.largest.value_or(0.0F), *scale);
    }
  }
  return found;
}

void fill(const LayerScale& layer, const Projections& projections, const Gaps& gaps, std::vector<Nvfp4Expert>& experts,
          std::vector<Finding>* findings) {
  if (layer.largest) {
    for (Nvfp4Expert& expert : experts) {
      for (const Projection projection : projections) {
        auto& scale = matrix_of(expert, projection).input_scale;
        if (!scale) scale = layer.largest;
      }
    }
  }
  if (findings == nullptr || !layer.any_tensor) return;
  if (layer.largest) {
    findings->push_back({"input_scale_filled",
                         fmt::format("{} has no input scale, first of {} matrices: filled with {:.6g}, the largest of "
                                     "its siblings",
                                     gaps.first.text(), gaps.count, *layer.largest)});
  } else {
    findings->push_back(
        {"input_scale_unused", fmt::format("{}: every input scale of the layer is 0, so that activations are quantized "
                                           "dynamically",
                                           gaps.first.text())});
  }
}

/// Each local expert's own scales; tells where there are none.
Result<Gaps> read_scales(const LayerTensors& layer, const ExpertRange& range, const Projections& projections,
                         std::vector<Nvfp4Expert>& experts) {
  Gaps gaps;
  for (int local = 0; local < range.count; ++local) {
    const int expert = range.first + local;
    for (const Projection projection : projections) {
      const MatrixPlace place = place_of(layer, false, expert, projection);
      TILEWRIGHT_ASSIGN(const auto scale, read_input_scale(place, layer.of(expert)));
      matrix_of(experts[static_cast<std::size_t>(local)], projection).input_scale = scale;
      if (!scale && gaps.count++ == 0) gaps.first = place;
    }
  }
  return gaps;
}

}  // namespace

Status set_input_scales(const LayerTensors& layer, const ExpertRange& range, ExpertWeights& weights,
                        std::vector<Finding>* findings) {
  const Projections first = layer.gated ? Projections{Projection::gate, Projection::up} : Projections{Projection::up};
  TILEWRIGHT_ASSIGN(const Gaps first_gaps, read_scales(layer, range, first, weights.experts));
  TILEWRIGHT_ASSIGN(const LayerScale first_scale, largest_scale(layer, first));
  if (first_gaps.count > 0) fill(first_scale, first, first_gaps, weights.experts, findings);
  weights.layer_input_scale = first_scale.largest;

  const Projections second{Projection::down};
  TILEWRIGHT_ASSIGN(const Gaps second_gaps, read_scales(layer, range, second, weights.experts));
  if (second_gaps.count == 0) return {};  // each expert has its own, and the other ranks' do not matter
  TILEWRIGHT_ASSIGN(const LayerScale second_scale, largest_scale(layer, second));
  fill(second_scale, second, second_gaps, weights.experts, findings);
  return {};
}

}  // namespace tilewright
