// Timing a loaded layer beside the machine's limits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tilewright/cpu_backend.hpp"
#include "tilewright/cuda_layer.hpp"
#include "tilewright/expert_weights.hpp"
#include "tilewright/moe_layer.hpp"
#include "tilewright/result.hpp"
#include "tilewright/routing.hpp"

namespace tilewright::cli {

/// One input of a layer: activations and the experts of each token.
struct LayerInput {
  std::vector<bf16> x;
  RoutedTokens routed;
};

/// What one input makes a rank do.
struct LayerWork {
  std::int64_t rows = 0;          ///< (token, expert) pairs whose expert lives here
  int active_experts = 0;         ///< local experts with rows
  std::int64_t weight_bytes = 0;  ///< weights and block scales of those, once
  double macs = 0;                ///< of all rows
};
LayerWork work_of(const RoutedTokens& routed, const ExpertWeights& weights);

/// Medians over the rounds; the work is the first input's.
struct LayerTiming {
  LayerWork work;
  int rounds = 0;
  double us = 0;
  double weight_GBps = 0;
  double tflops = 0;
  double read_GBps = 0;                     ///< of the machine, measured in the same rounds; of a GPU, before them
  double dot_GMACps = 0;                    ///< of a CPU's dot-product instruction
  double matrix_tflops = 0;                 ///< of a GPU, dense
  std::string bound;                        ///< "read", or "dot" or "matrix": what the roofline says is slower
  double bound_share = 0;                   ///< the roofline's time over the measured one; 0 where there is no work
  std::optional<LayerSchedules> schedules;  ///< of a GPU
};

/// Runs the layer on one input after the other, round by round, for about `seconds` and at least 3 rounds. Rounds
/// alternate with measurements of the machine. `y` receives the output of inputs.front().
Result<LayerTiming> time_layer(MoeLayer& layer, const ExpertWeights& weights, const std::vector<LayerInput>& inputs,
                               CpuMeter& meter, double seconds, std::vector<float>& y);

}  // namespace tilewright::cli
