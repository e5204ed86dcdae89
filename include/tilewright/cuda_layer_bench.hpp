// Timing a layer on a GPU against that GPU's limits: the whole layer with its routing given, in the conditions of a
// serving engine's decode and prefill.
//
// A replay is as many layers as take about 2 ms, at least 4, each with another routing, and with another copy of the
// weights where one copy would stay in the L2. Weights and activations are random, never zeros; y is bf16. Figures are
// of one layer: medians over the replays. The limits are measured in the same run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilewright/cuda_layer.hpp"
#include "tilewright/layer_bench.hpp"
#include "tilewright/model.hpp"
#include "tilewright/result.hpp"
#include "tilewright/tuning_cache.hpp"

namespace tilewright {

struct CudaLayerBenchOptions {
  std::vector<int> tokens = {1, 8, 64, 512};
  int ep = 1;  ///< this rank holds experts / ep of the experts
  int tp = 1;
  bool local = false;  ///< every token chooses among this rank's experts alone, so that T tokens have T * top_k rows
  TokenSpread spread = TokenSpread::uniform;
  bool graph = false;  ///< replay CUDA graphs instead of launching kernel by kernel
  int replays = 9;
  CudaLayerOptions kernels;
  const TuningCache* cache = nullptr;  ///< measured schedules are taken where it has some for `tuned_on`
  TunedOn tuned_on;
};

/// One token count. Rows and experts are means over the layers of a replay.
struct CudaLayerBenchResult {
  std::string model;
  int tokens = 0;
  int layers = 0;  ///< of a replay
  int replays = 0;
  double rows = 0;            ///< local (token, expert) pairs
  double active_experts = 0;  ///< local experts with rows
  double weight_bytes = 0;    ///< weights and scales of those experts
  double bytes = 0;           ///< those, x and y: what has to cross the memory's pins
  double us = 0;              ///< median
  double us_low = 0;          ///< 10th percentile
  double us_high = 0;         ///< 90th percentile
  double weight_GBps = 0;
  double tflops = 0;     ///< 2 multiply-adds a weight and row
  double read_us = 0;    ///< bytes at the measured read bandwidth
  double matrix_us = 0;  ///< multiply-adds at the measured matrix rate
  std::string bound;     ///< "read" or "matrix": the larger of the two
  double share = 0;      ///< that time over `us`: 1 is the roofline
  LayerSchedules schedules;
  bool tuned = false;  ///< they are from the cache
};

struct CudaLayerBenchContext {
  std::string device;
  int sm_count = 0;
  double read_GBps = 0;
  double matrix_tflops = 0;       ///< dense
  std::string matrix;             ///< the instruction that reached it: "bf16 wgmma", say
  int copies = 0;                 ///< of the weights
  std::int64_t packed_bytes = 0;  ///< of one copy
  std::int64_t model_bytes = 0;   ///< weights and scales before packing
};

struct CudaLayerBench {
  CudaLayerBenchContext context;
  std::vector<CudaLayerBenchResult> results;
};

/// Benchmarks the layer of `model` on the current GPU. `unsupported` as CudaLayer::create, also without one.
Result<CudaLayerBench> bench_cuda_layer(const ModelFacts& model, const CudaLayerBenchOptions& options);

}  // namespace tilewright
