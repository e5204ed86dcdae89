// Timing CudaLayer on the device: several layers that follow each other, again and again, each with another routing and
// with another copy of the weights, so that the weights come from device memory.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tilewright/cuda_layer.hpp"
#include "tilewright/float_types.hpp"
#include "tilewright/result.hpp"
#include "tilewright/routing.hpp"

namespace tilewright::cuda {

struct ReplayOptions {
  bool graph = true;      ///< one CUDA graph a replay; otherwise launches into a stream
  double least_us = 2e3;  ///< of a replay, about
  int replays = 9;        ///< that are timed, after two that are not
};

struct ReplayTimes {
  LayerSchedules schedules;
  int layers = 0;          ///< of a replay, at least 4
  std::vector<double> us;  ///< of one layer, replay by replay
};

/// Layer i of a replay runs copies[i % copies.size()] with x and routing(i), for every i alike in tokens and top-k; x
/// is [tokens, H] bf16, y [tokens, H] bf16 on the device. Workspace and y are filled with NaN before; an output that is
/// not finite afterwards is a `mismatch`. Errors of the CUDA runtime are its own.
Result<ReplayTimes> time_replays(std::span<const CudaLayer* const> copies, std::span<const bf16> x, int tokens,
                                 const std::function<RoutedTokens(int)>& routing, const ReplayOptions& options);

}  // namespace tilewright::cuda
