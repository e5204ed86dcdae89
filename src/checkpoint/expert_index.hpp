// Which tensors of a checkpoint belong to which layer's routed experts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/expert_names.hpp"
#include "tilewright/safetensors.hpp"

namespace tilewright {

/// One tensor of a routed expert. Points into a TensorFiles: a large model has hundreds of thousands of these.
struct ExpertTensor {
  const std::string* name = nullptr;
  const TensorView* view = nullptr;
  int expert = kStacked;
  Projection projection = Projection::unknown;
  TensorRole role = TensorRole::unknown;
};

struct LayerIndex {
  int layer = 0;
  std::vector<ExpertTensor> tensors;  ///< by expert, projection and role
};

/// What the tensors of one matrix say about how it is stored.
enum class StorageFormat { nvfp4, mxfp4, fp8, int4, plain, unknown };
/// As messages say it, e.g. "unquantized" for plain.
const char* to_string(StorageFormat format);

/// Layers with routed experts, ascending. Layers from `main_layers` on predict further tokens (MTP) and are left out;
/// 0 keeps all. The tensors must outlive the index.
std::vector<LayerIndex> index_experts(const TensorFiles& files, int main_layers);

/// The format of the matrix behind tensors [first, last) of one expert and projection.
StorageFormat storage_format(const ExpertTensor* first, const ExpertTensor* last);

/// True where a matrix of the layer is NVFP4, sound or not.
bool has_nvfp4(const LayerIndex& layer);

}  // namespace tilewright
