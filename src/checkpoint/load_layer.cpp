#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "checkpoint/checkpoint_contents.hpp"
#include "checkpoint/expert_matrix.hpp"
#include "checkpoint/input_scales.hpp"
#include "checkpoint/slicing.hpp"
#include "tilewright/checkpoint.hpp"
#include "tilewright/nvfp4.hpp"

namespace tilewright {
namespace {

/// Collects what all experts of a layer have in common, and one finding for many experts.
struct LayerSurvey {
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;
  std::int64_t negative_zeros = 0;
  std::string first_negative_zero;
  int mismatched_pairs = 0;
  float largest_ratio = 1.0F;
  int largest_ratio_expert = 0;
};

/// Experts of a stacked layer, from the shape of its down projection.
Result<int> count_stacked(const LayerTensors& layer) {
  const ExpertTensor* codes = layer.tensors.front().down.codes();
  if (codes == nullptr) {
    return fail(ErrorCode::not_found, fmt::format("layer {}, stacked down_proj: the weights are missing", layer.layer),
                "export or download the checkpoint again");
  }
  const auto& shape = codes->view->shape;
  // 2^20 experts is far above any model and keeps every product below in range.
  if (shape.size() == 3 && shape[0] >= 1 && shape[0] <= (1 << 20)) return static_cast<int>(shape[0]);
  return fail(ErrorCode::mismatch,
              fmt::format("layer {}: {} has shape [{}], not [experts, rows, columns]", layer.layer, *codes->name,
                          fmt::join(shape, ", ")),
              "export or download the checkpoint again");
}

Status check_count(const CheckpointContents& contents, const LayerTensors& layer) {
  if (!contents.model || contents.model->experts == layer.experts) return {};
  return fail(ErrorCode::mismatch,
              fmt::format("layer {} has {} experts, and config.json says {}", layer.layer, layer.experts,
                          contents.model->experts),
              "the download may be incomplete, or config.json may belong to another model");
}

Status check_sizes(const CheckpointContents& contents, const MatrixPlace& place, const Nvfp4Matrix& down) {
  if (!contents.model) return {};
  const ModelFacts& model = *contents.model;
  if (down.rows == model.hidden && down.cols == model.intermediate) return {};
  return fail(ErrorCode::mismatch,
              fmt::format("{} is {} x {}, and config.json says hidden {} and intermediate {}", place.text(), down.rows,
                          down.cols, model.hidden, model.intermediate),
              "give the config.json that belongs to these tensors");
}

Status check_shape(const MatrixPlace& place, const Nvfp4Matrix& matrix, std::int64_t rows, std::int64_t cols) {
  if (matrix.rows == rows && matrix.cols == cols) return {};
  return fail(ErrorCode::mismatch,
              fmt::format("{} is {} x {}, and the layer's other matrices make it {} x {}", place.text(), matrix.rows,
                          matrix.cols, rows, cols),
              "export or download the checkpoint again");
}

/// The experts of one load: views of whole matrices, then their slices.
class LayerLoader {
 public:
  LayerLoader(const CheckpointContents& contents, const LayerTensors& layer, std::vector<Finding>* findings)
      : contents_(contents), layer_(layer), findings_(findings) {}

  Result<ExpertWeights> load(const Slice& slice) {
    TILEWRIGHT_ASSIGN(const ExpertRange range, expert_range(layer_.experts, slice));
    ExpertWeights weights;
    weights.first_expert = range.first;
    weights.global_experts = layer_.experts;
    weights.gated = layer_.gated;
    weights.experts.reserve(static_cast<std::size_t>(range.count));
    for (int local = 0; local < range.count; ++local) {
      TILEWRIGHT_ASSIGN(Nvfp4Expert expert, load_expert(range.first + local, slice));
      weights.experts.push_back(expert);
    }
    TILEWRIGHT_TRY(set_input_scales(layer_, range, weights, findings_));
    weights.hidden = survey_.hidden;
    weights.intermediate = weights.experts.front().down.cols;
    report_survey();
    return weights;
  }

 private:
  [[nodiscard]] MatrixPlace place(int expert, Projection projection) const {
    return place_of(layer_, contents_.interleaved_gate_up, expert, projection);
  }

  Result<Nvfp4Expert> load_expert(int expert, const Slice& slice) {
    const ExpertTensors& tensors = layer_.of(expert);
    Nvfp4Expert views;
    TILEWRIGHT_ASSIGN(views.down, view_matrix(place(expert, Projection::down), tensors, findings_));
    if (survey_.hidden == 0) {
      TILEWRIGHT_TRY(check_sizes(contents_, place(expert, Projection::down), views.down));
      survey_.hidden = views.down.rows;
      survey_.intermediate = views.down.cols;
    }
    TILEWRIGHT_TRY(check_shape(place(expert, Projection::down), views.down, survey_.hidden, survey_.intermediate));
    TILEWRIGHT_ASSIGN(const ChannelRange channels, channel_range(layer_.layer, survey_.intermediate, slice));
    views.down = slice_columns(views.down, channels);
    TILEWRIGHT_TRY(survey_scales(place(expert, Projection::down), views.down, channels));
    TILEWRIGHT_ASSIGN(views.up, load_rows(expert, Projection::up, channels));
    if (layer_.gated) {
      TILEWRIGHT_ASSIGN(views.gate, load_rows(expert, Projection::gate, channels));
      survey_pair(expert, views);
    }
    return views;
  }

  Result<Nvfp4Matrix> load_rows(int expert, Projection projection, const ChannelRange& channels) {
    const MatrixPlace at = place(expert, projection);
    TILEWRIGHT_ASSIGN(Nvfp4Matrix matrix, view_matrix(at, layer_.of(expert), findings_));
    TILEWRIGHT_TRY(check_shape(at, matrix, survey_.intermediate, survey_.hidden));
    matrix = slice_rows(matrix, channels);
    TILEWRIGHT_TRY(survey_scales(at, matrix, channels));
    return matrix;
  }

  Status survey_scales(MatrixPlace at, const Nvfp4Matrix& matrix, const ChannelRange& channels) {
    if (at.projection == Projection::down) {
      at.first_block = channels.first / kBlock;
    } else {
      at.first_row = channels.first;
    }
    TILEWRIGHT_ASSIGN(const std::int64_t negative_zeros, check_scale_bytes(at, matrix));
    if (negative_zeros > 0 && survey_.negative_zeros == 0) survey_.first_negative_zero = at.text();
    survey_.negative_zeros += negative_zeros;
    return {};
  }

  void survey_pair(int expert, const Nvfp4Expert& views) {
    const auto [smaller, larger] = std::minmax(views.gate.global_scale, views.up.global_scale);
    if (smaller == larger) return;
    ++survey_.mismatched_pairs;
    if (larger / smaller <= survey_.largest_ratio) return;
    survey_.largest_ratio = larger / smaller;
    survey_.largest_ratio_expert = expert;
  }

  void report_survey() const {
    if (findings_ == nullptr) return;
    if (survey_.mismatched_pairs > 0) {
      findings_->push_back(
          {"gate_up_scale_mismatch",
           fmt::format("layer {}: gate and up have different global scales in {} experts, most in "
                       "expert {} ({:.4g} times); they are kept apart",
                       layer_.layer, survey_.mismatched_pairs, survey_.largest_ratio_expert, survey_.largest_ratio)});
    }
    if (survey_.negative_zeros > 0) {
      findings_->push_back({"negative_zero_scale",
                            fmt::format("{}: {} block scales of the layer are 0x80, a negative zero, and read as 0",
                                        survey_.first_negative_zero, survey_.negative_zeros)});
    }
  }

  const CheckpointContents& contents_;
  const LayerTensors& layer_;
  std::vector<Finding>* findings_;
  LayerSurvey survey_;
};

void report_format(const CheckpointContents& contents, int layer, std::vector<Finding>* findings) {
  if (findings == nullptr || !contents.model) return;
  const WeightFormat format = contents.model->format;
  constexpr std::array kAgree = {WeightFormat::unspecified, WeightFormat::nvfp4, WeightFormat::nvfp4_weight_only,
                                 WeightFormat::mixed};
  if (std::find(kAgree.begin(), kAgree.end(), format) != kAgree.end()) return;
  findings->push_back({"format_differs", fmt::format("layer {}: the experts are NVFP4, and config.json says {}", layer,
                                                     to_string(format))});
}

}  // namespace

Result<LayerTensors> gather_checked_layer(const CheckpointContents& contents, int layer,
                                          std::vector<Finding>* findings) {
  TILEWRIGHT_ASSIGN(const LayerIndex* index, contents.find_layer(layer));
  const bool config_gated = contents.model && contents.model->activation.gated();
  TILEWRIGHT_ASSIGN(LayerTensors tensors, gather_layer(*index, contents.model ? &config_gated : nullptr, findings));
  if (tensors.stacked) {
    TILEWRIGHT_ASSIGN(tensors.experts, count_stacked(tensors));
  }
  TILEWRIGHT_TRY(check_count(contents, tensors));
  report_format(contents, layer, findings);
  return tensors;
}

Result<ExpertWeights> Checkpoint::load_layer(int layer, const Slice& slice, std::vector<Finding>* findings) const {
  TILEWRIGHT_ASSIGN(const LayerTensors tensors, gather_checked_layer(*contents_, layer, findings));
  TILEWRIGHT_ASSIGN(ExpertWeights weights, LayerLoader(*contents_, tensors, findings).load(slice));
  weights.storage = contents_;
  weights.release_pages = [contents = contents_, experts = weights.experts](int expert) {
    if (expert < 0 || expert >= static_cast<int>(experts.size())) return;
    const Nvfp4Expert& views = experts[static_cast<std::size_t>(expert)];
    for (const Nvfp4Matrix* matrix : {&views.gate, &views.up, &views.down}) {
      if (!matrix->empty()) release_matrix(contents->files, *matrix);
    }
  };
  return weights;
}

}  // namespace tilewright
