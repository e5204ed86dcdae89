#include "tilewright/problem.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/enum_names.hpp"
#include "schedule/size_limits.hpp"

namespace tilewright {
namespace {

constexpr schedule::EnumNames<2> kGemmNames = {"gemm1", "gemm2"};

constexpr std::int64_t kBlockK = 16;  // elements that share a block scale; every K is whole blocks

Status check_split(const LayerProblem& problem) {
  const ModelFacts& model = problem.model;
  if (model.hidden < 1 || model.intermediate < 1 || model.experts < 1) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("model \"{}\" has H {}, I {} and {} experts", model.name, model.hidden, model.intermediate,
                            model.experts),
                "all three must be positive");
  }
  if (problem.tp < 1 || problem.ep < 1) {
    return fail(ErrorCode::invalid_argument, fmt::format("tp {} and ep {}", problem.tp, problem.ep),
                "both must be at least 1");
  }
  if (problem.ep > model.experts) {
    return fail(ErrorCode::invalid_argument, fmt::format("ep {} for {} experts", problem.ep, model.experts),
                "a rank must hold at least one expert");
  }
  if (problem.tokens < 1) {
    return fail(ErrorCode::invalid_argument, fmt::format("{} tokens", problem.tokens), "give at least 1");
  }
  return {};
}

// I of one rank, in whole 16-blocks.
Result<std::int64_t> split_intermediate(const LayerProblem& problem) {
  const std::int64_t whole = kBlockK * problem.tp;
  const std::int64_t size = problem.model.intermediate;
  const std::int64_t padded = (size + whole - 1) / whole * whole;
  if (padded == size || problem.pad_intermediate) return padded / problem.tp;
  return fail(ErrorCode::invalid_argument,
              fmt::format("I {} over tp {} is {} a rank, not whole blocks of 16", size, problem.tp,
                          static_cast<double>(size) / problem.tp),
              fmt::format("pad I to {} ({} a rank) or choose another tp", padded, padded / problem.tp));
}

Result<RowsHistogram> layer_rows(const LayerProblem& problem, int local_experts) {
  if (problem.counts.empty()) {
    return expected_rows(problem.tokens, problem.model.routing.top_k, problem.model.experts, local_experts,
                         problem.rows);
  }
  if (problem.counts.size() != static_cast<std::size_t>(local_experts)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("rows are given for {} experts, and {} are local", problem.counts.size(), local_experts),
                "give one number for each");
  }
  return rows_from_counts(problem.counts);
}

Epilogue gemm1_epilogue(bool is_gated, Precision precision) {
  if (precision == Precision::w4a4) return is_gated ? Epilogue::gated_nvfp4 : Epilogue::act_nvfp4;
  return is_gated ? Epilogue::gated_bf16 : Epilogue::act_bf16;
}

}  // namespace

const char* to_string(GemmId gemm) { return schedule::name_of(kGemmNames, gemm); }

Result<GemmProblem> grouped_gemm(int groups, std::int64_t rows, std::int64_t n, std::int64_t k, Precision precision,
                                 Epilogue epilogue) {
  if (groups < 1 || groups > schedule::kMostExperts || rows < 0) {
    return fail(ErrorCode::invalid_argument, fmt::format("{} groups of {} rows", groups, rows),
                "give 1 to 2^20 groups, and no negative rows");
  }
  GemmProblem problem;
  problem.gemm = epilogue == Epilogue::finalize ? GemmId::gemm2 : GemmId::gemm1;
  problem.n = n;
  problem.k = k;
  TILEWRIGHT_ASSIGN(problem.rows, rows_from_counts(std::vector<std::int64_t>(static_cast<std::size_t>(groups), rows)));
  problem.tokens = problem.rows.total();
  problem.precision = precision;
  problem.epilogue = epilogue;
  return problem;
}

Result<LayerGemms> layer_gemms(const LayerProblem& problem) {
  TILEWRIGHT_TRY(check_split(problem));
  const ModelFacts& model = problem.model;
  LayerGemms gemms;
  gemms.local_experts = (model.experts + problem.ep - 1) / problem.ep;
  TILEWRIGHT_ASSIGN(gemms.intermediate, split_intermediate(problem));
  TILEWRIGHT_ASSIGN(gemms.gemm1.rows, layer_rows(problem, gemms.local_experts));
  if (problem.counts.empty()) {
    TILEWRIGHT_ASSIGN(gemms.gemm1.draws, drawn_rows(problem.tokens, model.routing.top_k, model.experts,
                                                    gemms.local_experts, problem.rows));
  }
  const bool is_gated = model.activation.gated();
  gemms.gemm1.gemm = GemmId::gemm1;
  gemms.gemm1.n = (is_gated ? 2 : 1) * gemms.intermediate;
  gemms.gemm1.k = model.hidden;
  gemms.gemm1.tokens = problem.tokens;
  gemms.gemm1.precision = problem.precision;
  gemms.gemm1.epilogue = gemm1_epilogue(is_gated, problem.precision);
  gemms.gemm2 = gemms.gemm1;
  gemms.gemm2.gemm = GemmId::gemm2;
  gemms.gemm2.n = model.hidden;
  gemms.gemm2.k = gemms.intermediate;
  gemms.gemm2.epilogue = Epilogue::finalize;
  return gemms;
}

std::int64_t active_weight_bytes(const GemmProblem& problem) {
  return problem.rows.active() * weight_bytes(problem.n, problem.k);
}

double flops(const GemmProblem& problem) {
  return 2.0 * static_cast<double>(problem.rows.total()) * static_cast<double>(problem.n) *
         static_cast<double>(problem.k);
}

}  // namespace tilewright
