// The work that is planned: one grouped GEMM, or the two of an expert layer.
//
// A grouped GEMM is y[r, n] = sum over k of x[r, k] * W_e[n, k] for the rows r of each expert e. How many rows each
// expert has decides the schedule, and is carried as a histogram, never as a mean.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilewright/arch.hpp"
#include "tilewright/model.hpp"
#include "tilewright/precision.hpp"
#include "tilewright/result.hpp"
#include "tilewright/schedule.hpp"

namespace tilewright {

/// How many experts have how many rows. Bins are in descending order of rows; experts without rows are counted too.
struct RowsHistogram {
  struct Bin {
    std::int64_t rows = 0;
    std::int64_t experts = 0;
  };
  std::vector<Bin> bins;

  [[nodiscard]] std::int64_t experts() const;  ///< with and without rows
  [[nodiscard]] std::int64_t active() const;   ///< experts with at least one row
  [[nodiscard]] std::int64_t total() const;    ///< rows of all experts
  [[nodiscard]] std::int64_t max() const;      ///< rows of the largest expert
  [[nodiscard]] double mean_active() const;    ///< rows of an active expert; 0 when there is none
};

/// Histogram of rows given expert by expert. No expert, a negative count or more than 2^20 experts or 2^36 rows are
/// `invalid_argument`.
Result<RowsHistogram> rows_from_counts(const std::vector<std::int64_t>& counts);

/// How tokens spread over the experts of a layer.
enum class RowDistribution {
  uniform_random,  ///< each token picks k of E at random: an expert's rows are Binomial(T, k / E). The default
  balanced,        ///< as even as whole rows allow: min(E_local, rows) experts are active
  power_law,       ///< expert i of E, by popularity, is picked in proportion to i^-alpha, at most once a token
};
const char* to_string(RowDistribution distribution);
Result<RowDistribution> parse_distribution(const std::string& name);

struct RowModel {
  RowDistribution distribution = RowDistribution::uniform_random;
  double alpha = 1.2;  ///< of power_law; 0 is uniform
};

/// Rows of the experts of one rank: `tokens` tokens each pick `top_k` of `experts` experts over all ranks, and
/// `local_experts` of them live here. Uniform and balanced ranks get round(tokens * top_k * local / experts) rows, at
/// least one. Under a power law experts are dealt to the ranks in order of popularity, and this is the rank that holds
/// the most popular one: a layer takes as long as its slowest rank. Uniform rows are the quantiles of the binomial
/// distribution at (i + 1/2) / local_experts, so that the number of active experts agrees with
/// local * (1 - (1 - k / E)^T) within one. Rows of a power law are those of systematic sampling from `tokens` evenly
/// spaced starts: each within one of its mean, and k distinct experts a token.
Result<RowsHistogram> expected_rows(std::int64_t tokens, int top_k, int experts, int local_experts,
                                    const RowModel& model = {});

/// Rows as some routings give them, and how many of all routings they stand for.
struct RowsDraw {
  RowsHistogram rows;  ///< may be without any row: a rank that no token chose
  double share = 1.0;  ///< sums to 1 over the draws of a problem
};

/// Up to eight draws of what expected_rows() is the mean of, the same ones for the same arguments: tokens choose k
/// distinct experts each, at random or by the power law. None where rows are balanced, which nothing is random about.
/// Errors as expected_rows().
Result<std::vector<RowsDraw>> drawn_rows(std::int64_t tokens, int top_k, int experts, int local_experts,
                                         const RowModel& model = {});

enum class GemmId : std::uint8_t {
  gemm1,  ///< gate and up (or up alone): N = 2 I (or I), K = H; also a grouped GEMM by itself that does not combine
  gemm2,  ///< down: N = H, K = I; its epilogue combines (Epilogue::finalize)
};
const char* to_string(GemmId gemm);  ///< "gemm1", "gemm2"

struct GemmProblem {
  GemmId gemm = GemmId::gemm1;
  std::int64_t n = 0;  ///< weight rows of an expert (output features)
  std::int64_t k = 0;  ///< a multiple of 16
  RowsHistogram rows;
  std::vector<RowsDraw> draws;  ///< of a random routing, of which `rows` are the expected ones; empty: rows are exact
  std::int64_t tokens = 0;      ///< distinct tokens behind the rows
  Precision precision = Precision::w4a16;
  Epilogue epilogue = Epilogue::bf16;
};

/// `groups` experts with `rows` rows each, every row a token of its own (the command line's --groups --rows --n --k).
Result<GemmProblem> grouped_gemm(int groups, std::int64_t rows, std::int64_t n, std::int64_t k, Precision precision,
                                 Epilogue epilogue = Epilogue::bf16);

/// An expert layer on one rank of tp * ep.
struct LayerProblem {
  ModelFacts model;
  std::int64_t tokens = 0;  ///< of the whole layer, over all EP ranks
  int tp = 1;               ///< I is divided by it
  int ep = 1;  ///< the experts are divided by it; the first E % ep ranks hold one more, and one of them is planned
  Precision precision = Precision::w4a16;
  RowModel rows;
  std::vector<std::int64_t> counts;  ///< rows of each local expert; empty: from `rows`
  bool pad_intermediate = false;     ///< I grows to the next multiple of 16 * tp where it is not one (else an error)
};

struct LayerGemms {
  GemmProblem gemm1;
  GemmProblem gemm2;
  int local_experts = 0;
  std::int64_t intermediate = 0;  ///< I of this rank, padding included
};

/// The two GEMMs of a layer. An I that tp would cut inside a 16-block, more ranks than experts, no tokens and a list of
/// the wrong length are `invalid_argument` with the numbers and what to do.
Result<LayerGemms> layer_gemms(const LayerProblem& problem);

/// NVFP4 bytes of n x k weights: half a byte a code and one byte for each 16, 0.5625 a weight.
constexpr std::int64_t weight_bytes(std::int64_t n, std::int64_t k) { return n * k / 2 + n * k / 16; }

/// NVFP4 bytes of the experts that have rows.
std::int64_t active_weight_bytes(const GemmProblem& problem);

/// Multiply-adds counted as two, of all rows, without any padding.
double flops(const GemmProblem& problem);

/// The precision that an architecture's kernels run by default: w4a4 where the tensor cores take FP4, else w4a16.
constexpr Precision default_precision(Arch arch) {
  return arch == Arch::sm_90 || arch == Arch::cpu ? Precision::w4a16 : Precision::w4a4;
}

}  // namespace tilewright
