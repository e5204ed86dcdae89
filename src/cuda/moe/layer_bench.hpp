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

/// The current GPU and its limits, measured (cuda/meter/meter.hpp).
struct GpuLimits {
  std::string device;
  int sm_count = 0;
  std::int64_t l2_bytes = 0;
  double read_GBps = 0;
  double matrix_tflops = 0;
  std::string matrix;  ///< what multiplied: "bf16 wgmma", "bf16 mma.sync" or "FP4 mma.sync"
};

/// The matrix rate is that of the instruction which this GPU's own kernels take for `precision`; of SM90, which has no
/// FP4, wgmma in bf16 for any. `unsupported` without CUDA in this build, and on a GPU that the kernels are not built
/// for.
Result<GpuLimits> measure_gpu(Precision precision);

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
