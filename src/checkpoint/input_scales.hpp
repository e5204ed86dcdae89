// The activations' static scales, expert by expert and for the layer, with gaps filled.
#pragma once

#include <vector>

#include "checkpoint/expert_matrix.hpp"
#include "checkpoint/layer_tensors.hpp"
#include "checkpoint/slicing.hpp"
#include "tilewright/expert_weights.hpp"

namespace tilewright {

/// Sets input_scale of each local expert's matrices, and layer_input_scale over all experts of the layer. Gate and up
/// see the same activations and fill each other's gaps. An expert that calibration never reached gets the largest scale
/// of all the layer's experts, so that the result does not depend on the expert-parallel degree; where no expert has
/// one, none gets one.
Status set_input_scales(const LayerTensors& layer, const ExpertRange& range, ExpertWeights& weights,
                        std::vector<Finding>* findings);

}  // namespace tilewright
