// Timing a layer against this machine's limits.
//
// A round measures the read bandwidth, the dot-product rate and one run of the layer, one after the other, so that a
// machine whose speed drifts moves all three; figures are medians over the rounds. Every run works on other experts
// than the run before, so that its weights come from memory and not from a cache.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilewright/cpu_backend.hpp"
#include "tilewright/model.hpp"
#include "tilewright/moe_layer.hpp"
#include "tilewright/precision.hpp"
#include "tilewright/result.hpp"

namespace tilewright {

/// How the benchmark's tokens choose experts.
enum class TokenSpread {
  balanced,  ///< slots walk through the global experts in equal steps: rows an expert differ by one at most
  uniform,   ///< each token's experts are drawn without replacement, seeded
  skewed,    ///< drawn by RowDistribution::power_law with its alpha of 1.2; the same experts are popular in every round
  single,    ///< every token chooses the same top_k experts, which follow each other
};
const char* to_string(TokenSpread spread);
Result<TokenSpread> parse_token_spread(const std::string& name);

/// `tokens` tokens, top-k of `experts` experts; `round` moves the choice on, so that no round repeats the one before.
RoutedTokens spread_tokens(TokenSpread spread, int tokens, int top_k, int experts, int round);

struct LayerBenchOptions {
  std::vector<int> tokens = {1, 8, 64, 512};
  int ep = 1;  ///< this rank holds experts / ep of the experts; tokens stay global
  int tp = 1;
  Precision precision = Precision::w4a16;
  TokenSpread spread = TokenSpread::balanced;
  CpuOptions cpu;
  int rounds = 0;  ///< 0: as many as fit `seconds` for each token count, between 5 and 200
  double seconds = 2.0;
};

/// One token count. Rates are medians of the rounds' own ratios.
struct LayerBenchResult {
  std::string model;
  int tokens = 0;
  Precision precision = Precision::w4a16;
  int rounds = 0;
  std::int64_t rows = 0;          ///< local (token, expert) pairs
  int active_experts = 0;         ///< local experts with rows
  std::int64_t weight_bytes = 0;  ///< weights and scales of those experts
  double us = 0;                  ///< median
  double us_low = 0;              ///< 10th percentile
  double us_high = 0;             ///< 90th percentile
  double weight_GBps = 0;
  double tflops = 0;       ///< 2 multiply-adds a weight and row
  double read_us = 0;      ///< the weights at the measured read bandwidth
  double dot_us = 0;       ///< the multiply-adds at the measured dot-product rate
  std::string bound;       ///< "read" or "dot": the larger of the two
  double bound_share = 0;  ///< that time over `us`: 1 is the roofline
};

struct LayerBenchContext {
  std::string cpu;
  std::string isa;
  int threads = 0;
  double read_GBps = 0;   ///< median
  double dot_GMACps = 0;  ///< median, of the instruction
  std::string dot_instruction;
  int dots_per_mac = 1;
  std::int64_t packed_bytes = 0;
  std::int64_t model_bytes = 0;     ///< weights and scales before packing
  std::int64_t peak_rss_bytes = 0;  ///< of the process, after the last run
};

struct LayerBench {
  LayerBenchContext context;
  std::vector<LayerBenchResult> results;
};

/// Benchmarks the layer of `model` with random weights. Weights of one expert are made once and packed for each.
Result<LayerBench> bench_layer(const ModelFacts& model, const LayerBenchOptions& options);

}  // namespace tilewright
