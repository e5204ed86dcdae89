// One expert layer of a checkpoint with what its runs need: weights, activation, routing, inputs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tilewright/checkpoint.hpp"
#include "tilewright/expert_weights.hpp"
#include "tilewright/model.hpp"
#include "tilewright/result.hpp"
#include "tools/tilewright/layer_timing.hpp"

namespace tilewright::cli {

/// Which layer to load.
struct LayerSource {
  std::string checkpoint;
  std::string model;  ///< activation and routing from this model instead of the checkpoint's config.json; may be empty
  int layer = -1;     ///< -1: the first with NVFP4 experts
  Slice slice;
};

struct LoadedLayer {
  int number = 0;
  ModelFacts facts;
  ExpertWeights weights;
  std::optional<Router> router;  ///< the checkpoint's own, where its width is the experts'
  std::vector<Finding> findings;
};

Result<LoadedLayer> load_layer(const LayerSource& source);

/// Random inputs, routed by the checkpoint's router or at random. There are several, so that consecutive runs choose
/// other experts and their weights come from memory.
Result<std::vector<LayerInput>> random_inputs(const LoadedLayer& layer, int tokens, std::uint64_t seed);

/// The input of a file (tensor_io.hpp), routed by its ids and weights, its logits, or else as random_inputs does.
Result<std::vector<LayerInput>> file_input(const LoadedLayer& layer, const std::string& path, std::uint64_t seed);

}  // namespace tilewright::cli
