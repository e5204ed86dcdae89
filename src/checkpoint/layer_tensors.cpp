#include "checkpoint/layer_tensors.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace tilewright {
namespace {

constexpr const char* kExportAgain = "export or download the checkpoint again";

std::string place(int layer, int expert, Projection projection) {
  if (expert == kStacked) return fmt::format("layer {}, stacked {}", layer, to_string(projection));
  return fmt::format("layer {}, expert {}, {}", layer, expert, to_string(projection));
}

MatrixTensors* matrix_of(ExpertTensors& expert, Projection projection) {
  switch (projection) {
    case Projection::gate: return &expert.gate;
    case Projection::up: return &expert.up;
    case Projection::gate_up: return &expert.gate_up;
    case Projection::down: return &expert.down;
    case Projection::unknown: return nullptr;
  }
  return nullptr;
}

/// Tensors beside the weights that change what the weights mean.
Status refuse_companion(int layer, const ExpertTensor& tensor) {
  const char* what = nullptr;
  if (tensor.role == TensorRole::pre_quant_scale) what = "NVFP4_AWQ input factors";
  if (tensor.role == TensorRole::svd_factor) what = "NVFP4_SVD low-rank factors";
  if (tensor.role == TensorRole::bias) what = "a bias";
  if (what == nullptr) return {};
  return fail(ErrorCode::unsupported,
              fmt::format("{}: {} ({}) would be left out, and the results would be wrong",
                          place(layer, tensor.expert, tensor.projection), what, *tensor.name),
              "use a plain NVFP4 export of the model");
}

Status add_tensor(const LayerIndex& index, const ExpertTensor& tensor, LayerTensors& layer) {
  const std::size_t slot = layer.stacked ? 0 : static_cast<std::size_t>(tensor.expert);
  MatrixTensors* matrix = matrix_of(layer.tensors[slot], tensor.projection);
  const ExpertTensor*& entry = matrix->by_role[static_cast<std::size_t>(tensor.role)];
  if (entry != nullptr) {
    return fail(ErrorCode::mismatch,
                fmt::format("{}: {} and {} are the same tensor under two names",
                            place(index.layer, tensor.expert, tensor.projection), *entry->name, *tensor.name),
                "keep one model in the directory");
  }
  entry = &tensor;
  return {};
}

/// The layer's layout and the number of experts that its tensor names speak of.
Status find_layout(const LayerIndex& index, LayerTensors& layer) {
  const ExpertTensor* stacked = nullptr;
  const ExpertTensor* single = nullptr;
  for (const ExpertTensor& tensor : index.tensors) {
    if (tensor.projection == Projection::unknown || tensor.role == TensorRole::unknown) continue;
    (tensor.expert == kStacked ? stacked : single) = &tensor;
  }
  if (stacked != nullptr && single != nullptr) {
    return fail(ErrorCode::mismatch,
                fmt::format("layer {} has stacked experts ({}) and single ones ({})", index.layer, *stacked->name,
                            *single->name),
                "keep one model in the directory");
  }
  layer.layer = index.layer;
  layer.stacked = stacked != nullptr;
  if (single != nullptr) layer.experts = single->expert + 1;  // the index is in order of experts
  const std::size_t slots = layer.stacked ? 1 : static_cast<std::size_t>(layer.experts);
  if (slots > index.tensors.size()) {
    return fail(ErrorCode::mismatch,
                fmt::format("layer {} has an expert {} and {} tensors of experts in all", index.layer,
                            layer.experts - 1, index.tensors.size()),
                kExportAgain);
  }
  layer.tensors.resize(slots);
  return {};
}

/// One format in the layer, and NVFP4.
Status check_formats(const LayerIndex& index) {
  const ExpertTensor* const end = index.tensors.data() + index.tensors.size();
  const ExpertTensor* reference = nullptr;
  StorageFormat reference_format = StorageFormat::unknown;
  for (const ExpertTensor* first = index.tensors.data(); first != end;) {
    const ExpertTensor* last = first;
    while (last != end && last->expert == first->expert && last->projection == first->projection) ++last;
    const StorageFormat format = storage_format(first, last);
    // Without weights it is an incomplete matrix, which is told with its name later.
    const bool has_weights = std::any_of(first, last, [](const ExpertTensor& tensor) {
      return tensor.role == TensorRole::weight || tensor.role == TensorRole::weight_packed;
    });
    if (first->projection != Projection::unknown && (has_weights || format != StorageFormat::unknown)) {
      if (reference == nullptr) {
        reference = first;
        reference_format = format;
      }
      if (format != reference_format) {
        return fail(ErrorCode::unsupported,
                    fmt::format("layer {} mixes formats: {} is {}, {} is {}", index.layer, *reference->name,
                                to_string(reference_format), *first->name, to_string(format)),
                    "a layer's experts must all be NVFP4; quantize the layer again");
      }
    }
    first = last;
  }
  if (reference == nullptr || reference_format == StorageFormat::nvfp4) return {};
  return fail(ErrorCode::unsupported,
              fmt::format("layer {}: the experts are {}, not NVFP4 ({} is {})", index.layer,
                          to_string(reference_format), *reference->name, to_string(reference->view->dtype)),
              reference_format == StorageFormat::plain ? "make NVFP4 of them with tilewright quantize"
                                                       : "use an NVFP4 export of the model");
}

Status check_present(const LayerTensors& layer, int expert, Projection projection) {
  const ExpertTensors& tensors = layer.of(expert);
  const bool fused = tensors.gate_up.present();
  const bool in_fused = fused && (projection == Projection::gate || projection == Projection::up);
  if (in_fused || tensors.of(projection).present()) return {};
  return fail(ErrorCode::not_found, fmt::format("{} has no tensors", place(layer.layer, expert, projection)),
              kExportAgain);
}

Status check_projections(const LayerTensors& layer) {
  for (int expert = 0; expert < (layer.stacked ? 1 : layer.experts); ++expert) {
    const ExpertTensors& tensors = layer.of(expert);
    const bool any =
        tensors.gate.present() || tensors.up.present() || tensors.gate_up.present() || tensors.down.present();
    if (!any) {
      return fail(ErrorCode::not_found,
                  fmt::format("layer {}: expert {} of {} is missing", layer.layer, expert, layer.experts),
                  kExportAgain);
    }
    const int shown = layer.stacked ? kStacked : expert;
    if (layer.gated) TILEWRIGHT_TRY(check_present(layer, shown, Projection::gate));
    TILEWRIGHT_TRY(check_present(layer, shown, Projection::up));
    TILEWRIGHT_TRY(check_present(layer, shown, Projection::down));
  }
  return {};
}

void report_unknown(const LayerIndex& index, std::vector<Finding>* findings) {
  if (findings == nullptr) return;
  const auto unknown = [](const ExpertTensor& tensor) {
    return tensor.role == TensorRole::unknown || tensor.projection == Projection::unknown;
  };
  const auto count = std::count_if(index.tensors.begin(), index.tensors.end(), unknown);
  if (count == 0) return;
  const auto first = std::find_if(index.tensors.begin(), index.tensors.end(), unknown);
  findings->push_back({"unmapped_tensor", fmt::format("layer {}: {} tensors of the experts have no known role and are "
                                                      "not used, {} first",
                                                      index.layer, count, *first->name)});
}

}  // namespace

bool MatrixTensors::present() const {
  return std::any_of(by_role.begin(), by_role.end(), [](const ExpertTensor* tensor) { return tensor != nullptr; });
}

Dialect MatrixTensors::dialect() const {
  const bool packed = find(TensorRole::weight_packed) != nullptr ||
                      (find(TensorRole::weight) == nullptr && find(TensorRole::global_scale_reciprocal) != nullptr);
  return packed ? Dialect::compressed_tensors : Dialect::modelopt;
}

const ExpertTensor* MatrixTensors::codes() const {
  return find(dialect() == Dialect::modelopt ? TensorRole::weight : TensorRole::weight_packed);
}

const MatrixTensors& ExpertTensors::of(Projection projection) const {
  switch (projection) {
    case Projection::gate: return gate;
    case Projection::up: return up;
    case Projection::gate_up: return gate_up;
    case Projection::down:
    case Projection::unknown: break;
  }
  return down;
}

Result<LayerTensors> gather_layer(const LayerIndex& index, const bool* gated, std::vector<Finding>* findings) {
  LayerTensors layer;
  TILEWRIGHT_TRY(check_formats(index));
  for (const ExpertTensor& tensor : index.tensors) TILEWRIGHT_TRY(refuse_companion(index.layer, tensor));
  TILEWRIGHT_TRY(find_layout(index, layer));
  for (const ExpertTensor& tensor : index.tensors) {
    if (tensor.projection == Projection::unknown || tensor.role == TensorRole::unknown) continue;
    TILEWRIGHT_TRY(add_tensor(index, tensor, layer));
  }
  const bool has_gate = std::any_of(layer.tensors.begin(), layer.tensors.end(), [](const ExpertTensors& expert) {
    return expert.gate.present() || expert.gate_up.present();
  });
  layer.gated = gated != nullptr ? *gated : has_gate;
  if (has_gate && !layer.gated) {
    return fail(
        ErrorCode::mismatch,
        fmt::format("layer {} has gate projections, and config.json names an activation without a gate", index.layer),
        "give the config.json that belongs to these tensors");
  }
  TILEWRIGHT_TRY(check_projections(layer));
  report_unknown(index, findings);
  return layer;
}

}  // namespace tilewright
