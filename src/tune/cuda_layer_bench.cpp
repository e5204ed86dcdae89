#include "tilewright/cuda_layer_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "cuda/meter/gpu_limits.hpp"
#include "cuda/moe/layer_bench.hpp"
#include "schedule/token_buckets.hpp"
#include "tune/device_row.hpp"
#include "tune/random_experts.hpp"
#include "tune/routed_work.hpp"

namespace tilewright {
namespace {

/// Normal values with deviation 1, repeated with a period that is no multiple of any hidden size.
std::vector<bf16> random_activations(std::int64_t count) {
  constexpr std::int64_t kPeriod = 1'000'003;  // a prime
  std::mt19937_64 random(7);
  std::normal_distribution<float> normal;
  std::vector<bf16> x(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    x[at] = i < kPeriod ? to_bf16(normal(random)) : x[at - kPeriod];
  }
  return x;
}

/// Whether a batch of `tokens` takes one of the rungs: its bucket's, not the planner's for that bucket.
bool takes_rung(const std::vector<ScheduleRung>& rungs, int tokens) {
  const auto& buckets = schedule::kTokenBuckets;
  const auto bucket = std::lower_bound(buckets.begin(), buckets.end() - 1, tokens);
  return std::any_of(rungs.begin(), rungs.end(), [&](const ScheduleRung& rung) { return rung.tokens == *bucket; });
}

Status check(const ModelFacts& model, const CudaLayerBenchOptions& options) {
  TILEWRIGHT_TRY(tune::check_split(model, options.tp, options.ep));
  for (const int tokens : options.tokens) {
    if (tokens < 1) return fail(ErrorCode::invalid_argument, fmt::format("{} tokens", tokens), "use 1 or more");
  }
  if (options.tokens.empty()) return fail(ErrorCode::invalid_argument, "no token counts", "give one or more");
  if (options.replays < 1) {
    return fail(ErrorCode::invalid_argument, fmt::format("{} replays", options.replays), "use 1 or more");
  }
  const int count = model.experts / options.ep;
  if (options.local && model.routing.top_k > count) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("top-{} of the {} experts of one rank", model.routing.top_k, count),
                "use fewer ranks, or let tokens choose among all experts");
  }
  return {};
}

}  // namespace

Result<CudaLayerBench> bench_cuda_layer(const ModelFacts& model, const CudaLayerBenchOptions& options) {
  TILEWRIGHT_TRY(check(model, options));
  TILEWRIGHT_TRY(cuda_available(options.kernels));
  const int count = model.experts / options.ep;
  const ModelFacts facts = options.local ? tune::local_model(model, count) : model;
  const ExpertWeights weights = tune::random_experts(facts, 0, count, options.tp, 1);
  TILEWRIGHT_ASSIGN(const cuda::GpuLimits limits, cuda::measure_gpu(options.kernels.precision));

  LayerProblem problem;
  problem.model = facts;
  problem.ep = options.local ? 1 : options.ep;
  problem.tp = options.tp;
  problem.precision = options.kernels.precision;
  std::vector<ScheduleRung> rungs;
  std::vector<CudaLayer> layers;
  const auto add_layer = [&]() -> Status {
    TILEWRIGHT_ASSIGN(CudaLayer layer, CudaLayer::create(weights, facts.activation, facts.routing, options.kernels));
    if (options.cache != nullptr) {
      rungs = tuned_rungs(*options.cache, options.tuned_on, problem, layer.info().arch);
    }
    TILEWRIGHT_TRY(layer.use_schedules(rungs));
    layers.push_back(std::move(layer));
    return {};
  };
  TILEWRIGHT_TRY(add_layer());
  CudaLayerBench bench;
  CudaLayerBenchContext& context = bench.context;
  context.device = limits.device;
  context.sm_count = limits.sm_count;
  context.read_GBps = limits.read_GBps;
  context.matrix_tflops = limits.matrix_tflops;
  context.matrix = limits.matrix;
  context.packed_bytes = layers.front().info().packed_bytes;
  context.model_bytes = static_cast<std::int64_t>(weights.experts.size()) * expert_bytes(weights);
  const int fewest = *std::min_element(options.tokens.begin(), options.tokens.end());
  const double least_active = tune::mean_work(facts, options, fewest, 8, count).active_experts;
  context.copies = tune::weight_copies(context.packed_bytes, least_active * static_cast<double>(expert_bytes(weights)),
                                       limits.l2_bytes);
  while (static_cast<int>(layers.size()) < context.copies) TILEWRIGHT_TRY(add_layer());

  std::vector<const CudaLayer*> copies;
  for (const CudaLayer& layer : layers) copies.push_back(&layer);
  cuda::ReplayOptions how;
  how.graph = options.graph;
  how.replays = options.replays;
  for (const int tokens : options.tokens) {
    const std::vector<bf16> x = random_activations(std::int64_t{tokens} * facts.hidden);
    const auto routing = [&](int layer) {
      return spread_tokens(options.spread, tokens, facts.routing.top_k, facts.experts, layer);
    };
    TILEWRIGHT_ASSIGN(const cuda::ReplayTimes times, cuda::time_replays(copies, x, tokens, routing, how));
    CudaLayerBenchResult row;
    row.model = model.name;
    row.tokens = tokens;
    row.layers = times.layers;
    row.replays = static_cast<int>(times.us.size());
    row.schedules = times.schedules;
    row.tuned = takes_rung(rungs, tokens);
    tune::complete_row(row, times.us, tune::mean_work(facts, options, tokens, times.layers, count), weights, context);
    bench.results.push_back(row);
  }
  return bench;
}

}  // namespace tilewright
