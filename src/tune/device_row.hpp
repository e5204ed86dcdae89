// The arithmetic of a row of bench_cuda_layer, apart from the device that it is measured on.
#pragma once

#include <vector>

#include "tilewright/cuda_layer_bench.hpp"
#include "tilewright/expert_weights.hpp"

namespace tilewright::tune {

/// Mean work of the layers of a replay.
struct MeanWork {
  double rows = 0;
  double active_experts = 0;
};

/// Work of `layers` layers with the routings 0 .. layers - 1.
MeanWork mean_work(const ModelFacts& model, const CudaLayerBenchOptions& options, int tokens, int layers, int count);

/// Copies of the weights to rotate over, so that no layer finds weights in the L2 that a layer before it has read: the
/// copies together are at least four times as large as the L2, and twice as many bytes as it holds pass between two
/// layers that read the same copy. 8 at most.
int weight_copies(std::int64_t packed_bytes, double bytes_of_layer, std::int64_t l2_bytes);

/// Fills in what follows from the times `us` of the replays, and from model, tokens, layers and replays, which are set.
void complete_row(CudaLayerBenchResult& row, const std::vector<double>& us, const MeanWork& work,
                  const ExpertWeights& weights, const CudaLayerBenchContext& context);

}  // namespace tilewright::tune
