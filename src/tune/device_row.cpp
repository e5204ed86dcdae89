#include "tune/device_row.hpp"

#include <algorithm>
#include <cmath>

#include "tilewright/moe_layer.hpp"
#include "tune/routed_work.hpp"
#include "tune/statistics.hpp"

namespace tilewright::tune {
namespace {

constexpr int kMostCopies = 8;

}  // namespace

MeanWork mean_work(const ModelFacts& model, const CudaLayerBenchOptions& options, int tokens, int layers, int count) {
  MeanWork mean;
  for (int i = 0; i < layers; ++i) {
    const RoutedTokens routed = spread_tokens(options.spread, tokens, model.routing.top_k, model.experts, i);
    const RoutedWork work = routed_work(routed, 0, count);
    mean.rows += static_cast<double>(work.rows) / layers;
    mean.active_experts += static_cast<double>(work.active_experts) / layers;
  }
  return mean;
}

int weight_copies(std::int64_t packed_bytes, double bytes_of_layer, std::int64_t l2_bytes) {
  const auto copies = [](double wanted, double each) {
    return each > 0 ? static_cast<int>(std::min<double>(std::ceil(wanted / each), kMostCopies)) : kMostCopies;
  };
  const auto l2 = static_cast<double>(l2_bytes);
  return std::max({1, copies(4 * l2, static_cast<double>(packed_bytes)), copies(2 * l2, bytes_of_layer)});
}

void complete_row(CudaLayerBenchResult& row, const std::vector<double>& us, const MeanWork& work,
                  const ExpertWeights& weights, const CudaLayerBenchContext& context) {
  const auto of_expert = static_cast<double>(expert_bytes(weights));
  const double flops = 2.0 * work.rows * of_expert / 0.5625;
  row.rows = work.rows;
  row.active_experts = work.active_experts;
  row.weight_bytes = work.active_experts * of_expert;
  row.bytes = row.weight_bytes + 2.0 * 2.0 * row.tokens * static_cast<double>(weights.hidden);  // x and y, bf16
  row.us = quantile(us, 0.5);
  row.us_low = quantile(us, 0.1);
  row.us_high = quantile(us, 0.9);
  row.weight_GBps = row.weight_bytes / row.us * 1e-3;
  row.tflops = flops / row.us * 1e-6;
  row.read_us = row.bytes / context.read_GBps * 1e-3;
  row.matrix_us = flops / context.matrix_tflops * 1e-6;
  row.bound = row.read_us >= row.matrix_us ? "read" : "matrix";
  row.share = std::max(row.read_us, row.matrix_us) / row.us;
}

}  // namespace tilewright::tune
