#include "tools/tilewright/layer_timing.hpp"

#include <algorithm>
#include <chrono>

namespace tilewright::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kFewestRounds = 3;
constexpr int kMostRounds = 200;

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Samples of every round; each round's ratios are its own, so that a drifting machine cancels out.
struct Samples {
  std::vector<double> us, weight_GBps, tflops, read_GBps, dot_GMACps, share;
  int read_bound = 0;
  int rounds = 0;
};

void add_round(Samples& samples, const LayerWork& work, double us, double read_GBps, double dots_per_second,
               int dots_per_mac) {
  const double read_us = static_cast<double>(work.weight_bytes) / read_GBps * 1e-3;
  const double dot_us = work.macs * dots_per_mac / dots_per_second * 1e6;
  samples.us.push_back(us);
  samples.weight_GBps.push_back(static_cast<double>(work.weight_bytes) / us * 1e-3);
  samples.tflops.push_back(2.0 * work.macs / us * 1e-6);
  samples.read_GBps.push_back(read_GBps);
  samples.dot_GMACps.push_back(dots_per_second * 1e-9);
  samples.share.push_back(std::max(read_us, dot_us) / us);
  if (read_us >= dot_us) ++samples.read_bound;
  ++samples.rounds;
}

}  // namespace

LayerWork work_of(const RoutedTokens& routed, const ExpertWeights& weights) {
  std::vector<std::int64_t> rows(weights.experts.size(), 0);
  for (const std::int32_t id : routed.ids) {
    const std::int64_t local = static_cast<std::int64_t>(id) - weights.first_expert;
    if (id >= 0 && local >= 0 && local < static_cast<std::int64_t>(rows.size()))
      ++rows[static_cast<std::size_t>(local)];
  }
  LayerWork work;
  for (const std::int64_t count : rows) {
    work.rows += count;
    work.active_experts += count > 0 ? 1 : 0;
  }
  work.weight_bytes = work.active_experts * expert_bytes(weights);
  const double matrices = weights.gated ? 3 : 2;
  work.macs = static_cast<double>(work.rows) * matrices * static_cast<double>(weights.hidden) *
              static_cast<double>(weights.intermediate);
  return work;
}

Result<LayerTiming> time_layer(MoeLayer& layer, const ExpertWeights& weights, const std::vector<LayerInput>& inputs,
                               CpuMeter& meter, double seconds, std::vector<float>& y) {
  const Precision precision = layer.options().precision;
  std::vector<float> scratch(inputs.front().x.size());
  y.resize(scratch.size());
  TILEWRIGHT_TRY(layer.run(inputs.front().x.data(), inputs.front().routed, y.data()));  // also grows the workspace
  Samples samples;
  const auto start = Clock::now();
  while (samples.rounds < kFewestRounds ||
         (samples.rounds < kMostRounds && Clock::now() - start < std::chrono::duration<double>(seconds))) {
    const LayerInput& input = inputs[static_cast<std::size_t>(samples.rounds) % inputs.size()];
    const double read_GBps = meter.read_GBps();
    const double dots = meter.dot_rate(precision);
    const auto before = Clock::now();
    TILEWRIGHT_TRY(layer.run(input.x.data(), input.routed, scratch.data()));
    const double us = std::chrono::duration<double, std::micro>(Clock::now() - before).count();
    add_round(samples, work_of(input.routed, weights), us, read_GBps, dots, meter.dots_per_mac(precision));
  }
  LayerTiming timing;
  timing.work = work_of(inputs.front().routed, weights);
  timing.rounds = samples.rounds;
  timing.us = median(samples.us);
  timing.weight_GBps = median(samples.weight_GBps);
  timing.tflops = median(samples.tflops);
  timing.read_GBps = median(samples.read_GBps);
  timing.dot_GMACps = median(samples.dot_GMACps);
  timing.bound = 2 * samples.read_bound >= samples.rounds ? "read" : "dot";
  timing.bound_share = median(samples.share);
  return timing;
}

}  // namespace tilewright::cli
