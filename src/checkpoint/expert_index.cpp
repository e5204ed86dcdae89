#include "checkpoint/expert_index.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace tilewright {
namespace {

auto sort_key(const ExpertTensor& tensor) { return std::tie(tensor.expert, tensor.projection, tensor.role); }

bool is_plain(DType dtype) {
  return dtype == DType::bf16 || dtype == DType::f16 || dtype == DType::f32 || dtype == DType::f64;
}

const ExpertTensor* find_role(const ExpertTensor* first, const ExpertTensor* last, TensorRole role) {
  const auto* found = std::find_if(first, last, [&](const ExpertTensor& tensor) { return tensor.role == role; });
  return found == last ? nullptr : found;
}

}  // namespace

std::vector<LayerIndex> index_experts(const TensorFiles& files, int main_layers) {
  std::map<int, LayerIndex> layers;
  for (const auto& [name, view] : files.tensors()) {
    const auto parts = parse_expert_tensor_name(name);
    if (!parts || (main_layers > 0 && parts->layer >= main_layers)) continue;
    LayerIndex& layer = layers[parts->layer];
    layer.layer = parts->layer;
    layer.tensors.push_back({&name, &view, parts->expert, parts->projection, parts->role});
  }
  std::vector<LayerIndex> index;
  index.reserve(layers.size());
  for (auto& entry : layers) {
    auto& tensors = entry.second.tensors;
    std::stable_sort(tensors.begin(), tensors.end(),
                     [](const ExpertTensor& a, const ExpertTensor& b) { return sort_key(a) < sort_key(b); });
    tensors.shrink_to_fit();
    index.push_back(std::move(entry.second));
  }
  return index;
}

StorageFormat storage_format(const ExpertTensor* first, const ExpertTensor* last) {
  const auto dtype_of = [&](TensorRole role) {
    const ExpertTensor* tensor = find_role(first, last, role);
    return tensor != nullptr ? tensor->view->dtype : DType::other;
  };
  const auto has = [&](TensorRole role) { return find_role(first, last, role) != nullptr; };
  if (has(TensorRole::global_scale) || has(TensorRole::global_scale_reciprocal)) return StorageFormat::nvfp4;
  if (has(TensorRole::mx_blocks)) return StorageFormat::mxfp4;
  const DType weight =
      has(TensorRole::weight_packed) ? dtype_of(TensorRole::weight_packed) : dtype_of(TensorRole::weight);
  const DType scale = dtype_of(TensorRole::block_scale);
  if (weight == DType::f8_e4m3 || weight == DType::f8_e5m2) return StorageFormat::fp8;
  if (is_plain(weight)) return StorageFormat::plain;
  if (weight == DType::i32) return StorageFormat::int4;
  if (weight != DType::u8 && weight != DType::i8) return StorageFormat::unknown;
  // Two codes a byte: the block scales tell NVFP4 (ue4m3 for 16) from MXFP4 (ue8m0 for 32, stored as U8).
  if (scale == DType::u8 || scale == DType::f8_e8m0 || has(TensorRole::mx_scales)) return StorageFormat::mxfp4;
  return StorageFormat::nvfp4;
}

bool has_nvfp4(const LayerIndex& layer) {
  const ExpertTensor* const end = layer.tensors.data() + layer.tensors.size();
  for (const ExpertTensor* first = layer.tensors.data(); first != end;) {
    const ExpertTensor* last = first;
    while (last != end && last->expert == first->expert && last->projection == first->projection) ++last;
    if (first->projection != Projection::unknown && storage_format(first, last) == StorageFormat::nvfp4) return true;
    first = last;
  }
  return false;
}

const char* to_string(StorageFormat format) {
  switch (format) {
    case StorageFormat::nvfp4: return "NVFP4";
    case StorageFormat::mxfp4: return "MXFP4";
    case StorageFormat::fp8: return "FP8";
    case StorageFormat::int4: return "INT4";
    case StorageFormat::plain: return "unquantized";
    case StorageFormat::unknown: return "an unknown format";
  }
  return "an unknown format";
}

}  // namespace tilewright
