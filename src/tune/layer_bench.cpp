#include "tilewright/layer_bench.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "tune/random_experts.hpp"
#include "tune/routed_work.hpp"
#include "tune/statistics.hpp"

namespace tilewright {
namespace {

using tune::median;
using tune::quantile;
using tune::RoutedWork;
using Clock = std::chrono::steady_clock;

constexpr int kWarmups = 2;
constexpr int kMinRounds = 5;
constexpr int kMaxRounds = 200;

/// What every round of one token count measures.
struct Rounds {
  std::vector<double> us;
  std::vector<double> read_GBps;
  std::vector<double> dot_rate;
  std::vector<double> share;
};

std::vector<bf16> random_activations(std::int64_t count) {
  std::mt19937_64 random(7);
  std::normal_distribution<float> normal;
  std::vector<bf16> x(static_cast<std::size_t>(count));
  for (auto& value : x) value = to_bf16(normal(random));
  return x;
}

std::int64_t peak_rss() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

class Bench {
 public:
  Bench(const ModelFacts& model, const LayerBenchOptions& options, const ExpertWeights& weights, MoeLayer& layer,
        CpuMeter& meter)
      : model_(model), options_(options), weights_(weights), layer_(layer), meter_(meter) {}

  Result<LayerBenchResult> run(int tokens, LayerBenchContext& context) {
    x_ = random_activations(static_cast<std::int64_t>(tokens) * model_.hidden);
    y_.resize(x_.size());
    double seconds = 0;
    for (int i = 0; i < kWarmups; ++i) {
      TILEWRIGHT_ASSIGN(seconds, time_once(tokens, work_));
    }
    const int rounds = options_.rounds > 0
                           ? options_.rounds
                           : std::clamp(static_cast<int>(options_.seconds / (seconds + 0.05)), kMinRounds, kMaxRounds);
    Rounds all;
    for (int i = 0; i < rounds; ++i) TILEWRIGHT_TRY(round(tokens, all));
    context.read_GBps = median(all.read_GBps);
    context.dot_GMACps = median(all.dot_rate) * 1e-9;
    return summarize(tokens, all);
  }

 private:
  Result<double> time_once(int tokens, RoutedWork& work) {
    const RoutedTokens routed = spread_tokens(options_.spread, tokens, model_.routing.top_k, model_.experts, round_++);
    work = tune::routed_work(routed, weights_.first_expert, static_cast<int>(weights_.experts.size()));
    const auto start = Clock::now();
    TILEWRIGHT_TRY(layer_.run(x_.data(), routed, y_.data()));
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  Status round(int tokens, Rounds& all) {
    all.read_GBps.push_back(meter_.read_GBps());
    all.dot_rate.push_back(meter_.dot_rate(options_.precision));
    TILEWRIGHT_ASSIGN(const double seconds, time_once(tokens, work_));
    all.us.push_back(seconds * 1e6);
    all.share.push_back(std::max(read_us(all.read_GBps.back()), dot_us(all.dot_rate.back())) / all.us.back());
    return {};
  }

  [[nodiscard]] std::int64_t weight_bytes() const { return work_.active_experts * expert_bytes(weights_); }
  [[nodiscard]] double macs() const {
    return static_cast<double>(work_.rows) * static_cast<double>(expert_bytes(weights_)) / 0.5625;
  }
  [[nodiscard]] double read_us(double GBps) const { return static_cast<double>(weight_bytes()) / GBps * 1e-3; }
  [[nodiscard]] double dot_us(double rate) const {
    return macs() * meter_.dots_per_mac(options_.precision) / rate * 1e6;
  }

  [[nodiscard]] LayerBenchResult summarize(int tokens, const Rounds& all) const {
    LayerBenchResult result;
    result.model = model_.name;
    result.tokens = tokens;
    result.precision = options_.precision;
    result.rounds = static_cast<int>(all.us.size());
    result.rows = work_.rows;
    result.active_experts = work_.active_experts;
    result.weight_bytes = weight_bytes();
    result.us = median(all.us);
    result.us_low = quantile(all.us, 0.1);
    result.us_high = quantile(all.us, 0.9);
    result.weight_GBps = static_cast<double>(result.weight_bytes) / result.us * 1e-3;
    result.tflops = 2.0 * macs() / result.us * 1e-6;
    result.read_us = read_us(median(all.read_GBps));
    result.dot_us = dot_us(median(all.dot_rate));
    result.bound = result.read_us >= result.dot_us ? "read" : "dot";
    result.bound_share = median(all.share);
    return result;
  }

  const ModelFacts& model_;
  const LayerBenchOptions& options_;
  const ExpertWeights& weights_;
  MoeLayer& layer_;
  CpuMeter& meter_;
  std::vector<bf16> x_;
  std::vector<float> y_;
  RoutedWork work_;
  int round_ = 0;
};

}  // namespace

Result<LayerBench> bench_layer(const ModelFacts& model, const LayerBenchOptions& options) {
  TILEWRIGHT_TRY(tune::check_split(model, options.tp, options.ep));
  LayerBench bench;
  const int count = model.experts / options.ep;
  const ExpertWeights weights = tune::random_experts(model, 0, count, options.tp, 1);
  MoeLayerOptions layer_options;
  layer_options.precision = options.precision;
  layer_options.isa = options.cpu.isa;
  layer_options.threads = options.cpu.threads;
  TILEWRIGHT_ASSIGN(MoeLayer layer, MoeLayer::create(weights, model.activation, model.routing, layer_options));
  TILEWRIGHT_ASSIGN(CpuMeter meter, CpuMeter::create(options.cpu, layer.packed_memory()));
  Bench runner(model, options, weights, layer, meter);
  for (const int tokens : options.tokens) {
    if (tokens < 1) return fail(ErrorCode::invalid_argument, fmt::format("{} tokens", tokens), "use 1 or more");
    TILEWRIGHT_ASSIGN(LayerBenchResult result, runner.run(tokens, bench.context));
    bench.results.push_back(result);
  }
  bench.context.cpu = cpu_info().model;
  bench.context.isa = meter.isa();
  bench.context.threads = meter.threads();
  bench.context.dot_instruction = meter.dot_instruction(options.precision);
  bench.context.dots_per_mac = meter.dots_per_mac(options.precision);
  bench.context.packed_bytes = layer.packed_bytes();
  bench.context.model_bytes = static_cast<std::int64_t>(weights.experts.size()) * expert_bytes(weights);
  bench.context.peak_rss_bytes = peak_rss();
  return bench;
}

}  // namespace tilewright
