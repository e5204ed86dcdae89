// Timing a loaded layer on a GPU.
#pragma once

#include <vector>

#include "cuda/meter/gpu_limits.hpp"
#include "tools/tilewright/layer_timing.hpp"

namespace tilewright::cli {

/// Runs the layer on the first input from and to host memory, which fills `y`, and then times replays of the layer
/// alone on the device: with the first input's activations, and the routings of one input after the other. Without
/// tokens nothing is timed.
Result<LayerTiming> time_cuda_layer(MoeLayer& layer, const ExpertWeights& weights,
                                    const std::vector<LayerInput>& inputs, const cuda::GpuLimits& limits,
                                    std::vector<float>& y);

}  // namespace tilewright::cli
