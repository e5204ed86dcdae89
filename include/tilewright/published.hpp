// Published layer times, and how well the model predicts them.
//
// The rows are whole expert layers, timed on one rank as a replayed CUDA graph with every kernel from the router
// to the combined output (ai-dynamo/aiconfigurator's collector). Half of the models in a file fits one constant a stack
// (PeerStack::efficiency), the other half is predicted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/device.hpp"
#include "tilewright/peer_stacks.hpp"
#include "tilewright/problem.hpp"
#include "tilewright/result.hpp"

namespace tilewright {

struct PublishedLayer {
  std::string framework;
  std::string version;
  std::string kernel;
  PeerFormat format = PeerFormat::nvfp4;
  std::int64_t tokens = 0;  ///< over all ranks
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;  ///< of the model, before tp
  int top_k = 0;
  int experts = 0;
  int tp = 1;
  int ep = 1;
  double alpha = 0.0;  ///< of the power law; 0: balanced
  double us = 0.0;     ///< measured
};

/// Rows that took no part, and why.
struct LeftOut {
  std::string reason;
  std::int64_t rows = 0;
};

struct PublishedFile {
  std::vector<PublishedLayer> layers;
  std::vector<LeftOut> left_out;  ///< of a file that holds other things besides
};

/// Reads either of two CSVs, whose columns may come in any order and with others besides.
///   - Layers: framework, version, kernel, tokens, hidden, inter, topk, experts, tp, ep, distribution ("balanced" or
///     "power_law_ALPHA") and latency_us, all NVFP4.
///   - Measurements of many kinds: category, gpu, sm, library_kernel, op, dtype, E_or_groups, topk, M, N, K, time_us,
///     evidence. Taken are whole MoE layers in nvfp4 or fp8 on sm120 whose evidence is a data file that was read.
/// A column that is missing, a field that is no number, a size outside 1 .. 2^20 (2^24 tokens, 4096 experts) or an ep
/// or tp that does not divide is `invalid_argument` with its line.
Result<PublishedFile> parse_published(std::string_view csv);

/// Rows of the rank that the collector times: rank 0. Balanced: token t takes the experts t + j ceil(E / k), spread out
/// where there are fewer tokens than that. Power law: each expert's weight is drawn from a power law of that exponent
/// between 1 and 0.8 T (0.01 and 2 while T k <= E), and the rank with the most rows is timed; the published time is a
/// mean over draws that are not published, so several draws are returned. The same layer always gives the same draws.
std::vector<RowsHistogram> published_rows(const PublishedLayer& layer);

/// True where the experts have gate and up. The rows do not say it: kernels named nongated and 22 of 512 experts
/// (Nemotron 3) are relu2.
bool is_gated(const PublishedLayer& layer);

/// The mean over the draws of the layer's rows.
PeerTime predict_published(const Device& device, const PeerStack& stack, const PublishedLayer& layer);

/// Errors |predicted / measured - 1| over some rows.
struct PredictionError {
  std::string group;  ///< what the rows have in common
  std::int64_t rows = 0;
  double mean = 0;
  double p90 = 0;
  double worst = 0;
  double bias = 0;  ///< mean of predicted / measured - 1
};

struct StackValidation {
  const PeerStack* stack = nullptr;
  double fitted_efficiency = 0;  ///< what this file's fitting half asks for; beside PeerStack::efficiency
  PredictionError fitting;
  PredictionError held_out;
  std::vector<PredictionError> by_distribution;  ///< of the held-out half, as the next two
  std::vector<PredictionError> by_tokens;
  std::vector<PredictionError> by_parallelism;
};

struct PublishedValidation {
  std::string device;
  std::int64_t rows = 0;  ///< of the file
  std::vector<std::string> fitting_shapes;
  std::vector<std::string> held_out_shapes;
  std::vector<LeftOut> left_out;
  std::vector<StackValidation> stacks;
  PredictionError held_out;  ///< of all stacks
};

/// Compares predictions with the rows. Shapes alternate between the fitting half (first) and the held-out half: models,
/// ordered by hidden, intermediate, top-k and experts; in a file with one model, its layouts, ordered by tp and ep.
/// Left out are rows of stacks that are not described, DeepSeek-V3's of less than 1,024 tokens (its grouped top-k does
/// not follow the collector's routing), and rows that cannot be: those that would have read the active weights, less
/// what the L2 holds, faster than the DRAM's specification. A device without FP4 tensor cores is `unsupported`; no row
/// that takes part is `invalid_argument`.
Result<PublishedValidation> validate_published(const Device& device, const PublishedFile& file);

}  // namespace tilewright
