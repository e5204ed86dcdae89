#include "tools/tilewright/cuda_layer_timing.hpp"

#include "cuda/moe/layer_bench.hpp"
#include "tune/device_row.hpp"

namespace tilewright::cli {

Result<LayerTiming> time_cuda_layer(MoeLayer& layer, const ExpertWeights& weights,
                                    const std::vector<LayerInput>& inputs, const cuda::GpuLimits& limits,
                                    std::vector<float>& y) {
  const LayerInput& first = inputs.front();
  y.resize(first.x.size());
  TILEWRIGHT_TRY(layer.run(first.x.data(), first.routed, y.data()));
  LayerTiming timing;
  timing.work = work_of(first.routed, weights);
  timing.read_GBps = limits.read_GBps;
  timing.matrix_tflops = limits.matrix_tflops;
  timing.schedules = layer.cuda()->schedules(first.routed.tokens);
  if (first.routed.tokens == 0) return timing;

  const auto input_of = [&](int i) -> const LayerInput& { return inputs[static_cast<std::size_t>(i) % inputs.size()]; };
  const std::vector<const CudaLayer*> copies = {layer.cuda()};
  TILEWRIGHT_ASSIGN(const cuda::ReplayTimes times, cuda::time_replays(copies, first.x, first.routed.tokens,
                                                                      [&](int i) { return input_of(i).routed; }, {}));
  tune::MeanWork work;
  for (int i = 0; i < times.layers; ++i) {
    const LayerWork of_layer = work_of(input_of(i).routed, weights);
    work.rows += static_cast<double>(of_layer.rows) / times.layers;
    work.active_experts += static_cast<double>(of_layer.active_experts) / times.layers;
  }
  CudaLayerBenchContext machine;
  machine.read_GBps = limits.read_GBps;
  machine.matrix_tflops = limits.matrix_tflops;
  CudaLayerBenchResult row;
  row.tokens = first.routed.tokens;
  tune::complete_row(row, times.us, work, weights, machine);
  timing.rounds = static_cast<int>(times.us.size());
  timing.us = row.us;
  timing.weight_GBps = row.weight_GBps;
  timing.tflops = row.tflops;
  timing.bound = row.bound;
  timing.bound_share = row.share;
  timing.schedules = times.schedules;
  return timing;
}

}  // namespace tilewright::cli
