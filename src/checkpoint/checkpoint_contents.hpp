// What opening a checkpoint found: shared by loading and by reports.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/expert_index.hpp"
#include "checkpoint/layer_tensors.hpp"
#include "tilewright/checkpoint.hpp"

namespace tilewright {

struct CheckpointContents {
  std::string path;
  TensorFiles files;
  std::vector<LayerIndex> index;  ///< of `files`: layers with routed experts of any format
  std::vector<int> nvfp4_layers;
  Result<ModelFacts> model = fail(ErrorCode::not_found, "no config.json");
  bool interleaved_gate_up = false;

  /// The index of a layer; where it has no routed experts an error that lists the layers that do.
  [[nodiscard]] Result<const LayerIndex*> find_layer(int layer) const;
};

/// The tensors of a layer and its size, checked against the config where there is one.
Result<LayerTensors> gather_checked_layer(const CheckpointContents& contents, int layer,
                                          std::vector<Finding>* findings);

}  // namespace tilewright
