#include "tools/tilewright/problem_options.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "tools/tilewright/number_list.hpp"

namespace tilewright::cli {
namespace {

bool any_size(const ProblemOptions& options) {
  return !options.groups.empty() || !options.rows.empty() || !options.n.empty() || !options.k.empty();
}

Result<RowModel> row_model(const ProblemOptions& options) {
  TILEWRIGHT_ASSIGN(const RowDistribution distribution, parse_distribution(options.distribution));
  return RowModel{distribution, options.alpha};
}

std::vector<std::string> split_commas(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return parts;
}

}  // namespace

void declare_model_options(CLI::App& command, ProblemOptions& options) {
  const std::string group = "A layer of a model";
  command
      .add_option("--model,--config", options.model,
                  "A known model ('tilewright info --models' lists them), a config.json, or a checkpoint folder")
      ->option_text("MODEL")
      ->group(group);
  command.add_option("--tokens", options.tokens, "Tokens of the batch, over all ranks: 8, 1,8,64, 1..64 or 1..1024x2")
      ->option_text("LIST")
      ->group(group);
  command.add_option("--tp", options.tp, "Tensor-parallel ranks: each holds I / tp channels of every expert")
      ->option_text("LIST")
      ->group(group);
  command.add_option("--ep", options.ep, "Expert-parallel ranks: each holds 1 / ep of the experts")
      ->option_text("LIST")
      ->group(group);
}

void declare_gemm_options(CLI::App& command, ProblemOptions& options) {
  const std::string group = "One grouped GEMM";
  command.add_option("--groups", options.groups, "Experts")->option_text("LIST")->group(group);
  command.add_option("--rows", options.rows, "Rows (tokens) of each expert")->option_text("LIST")->group(group);
  command.add_option("--n", options.n, "Output features of an expert")->option_text("LIST")->group(group);
  command.add_option("--k", options.k, "Input features of an expert, a multiple of 16")
      ->option_text("LIST")
      ->group(group);
}

Result<ModelFacts> model_named(const std::string& text) {
  std::error_code ignored;
  if (std::filesystem::exists(text, ignored)) return read_model_config(text);
  const bool is_path = text.size() > 5 && text.compare(text.size() - 5, 5, ".json") == 0;
  if (is_path)
    return fail(ErrorCode::not_found, fmt::format("there is no file '{}'", text),
                "give --model a known name or an existing file");
  return find_model(text);
}

Result<std::vector<Precision>> precisions_of(const std::string& text, Precision otherwise) {
  if (text.empty()) return std::vector<Precision>{otherwise};
  std::vector<Precision> precisions;
  for (const std::string& name : split_commas(text)) {
    TILEWRIGHT_ASSIGN(const Precision precision, parse_precision(name));
    precisions.push_back(precision);
  }
  return precisions;
}

Result<std::vector<LayerProblem>> layer_problems(const ProblemOptions& options, Precision otherwise) {
  if (options.tokens.empty()) {
    return fail(ErrorCode::invalid_argument, "--model needs a number of tokens",
                "add --tokens, e.g. --tokens 1,8,64,512");
  }
  LayerProblem problem;
  TILEWRIGHT_ASSIGN(problem.model, model_named(options.model));
  TILEWRIGHT_ASSIGN(problem.rows, row_model(options));
  problem.pad_intermediate = options.pad_intermediate;
  TILEWRIGHT_ASSIGN(const auto tps, parse_number_list(options.tp, "--tp", 1));
  TILEWRIGHT_ASSIGN(const auto eps, parse_number_list(options.ep, "--ep", 1));
  TILEWRIGHT_ASSIGN(const auto tokens, parse_number_list(options.tokens, "--tokens", 1));
  TILEWRIGHT_ASSIGN(const auto precisions, precisions_of(options.precision, otherwise));
  if (!options.counts.empty()) {
    TILEWRIGHT_ASSIGN(const auto counts, parse_number_list(options.counts, "--expert-rows", 0));
    problem.counts.assign(counts.begin(), counts.end());
  }
  std::vector<LayerProblem> problems;
  for (const int tp : tps) {
    for (const int ep : eps) {
      for (const Precision precision : precisions) {
        for (const int count : tokens) {
          problem.tp = tp;
          problem.ep = ep;
          problem.precision = precision;
          problem.tokens = count;
          problems.push_back(problem);
        }
      }
    }
  }
  return problems;
}

Result<std::vector<GemmProblem>> gemm_problems(const ProblemOptions& options, Precision otherwise) {
  TILEWRIGHT_ASSIGN(const auto groups, parse_number_list(options.groups, "--groups", 1));
  TILEWRIGHT_ASSIGN(const auto rows, parse_number_list(options.rows, "--rows", 0));
  TILEWRIGHT_ASSIGN(const auto ns, parse_number_list(options.n, "--n", 1));
  TILEWRIGHT_ASSIGN(const auto ks, parse_number_list(options.k, "--k", 1));
  TILEWRIGHT_ASSIGN(const auto precisions, precisions_of(options.precision, otherwise));
  std::vector<GemmProblem> problems;
  for (const int group_count : groups) {
    for (const int n : ns) {
      for (const int k : ks) {
        for (const Precision precision : precisions) {
          for (const int row_count : rows) {
            TILEWRIGHT_ASSIGN(auto problem, grouped_gemm(group_count, row_count, n, k, precision));
            problems.push_back(std::move(problem));
          }
        }
      }
    }
  }
  return problems;
}

Result<bool> gives_model(const ProblemOptions& options) {
  const bool model = !options.model.empty();
  if (model && any_size(options)) {
    return fail(ErrorCode::invalid_argument, "--model and --groups/--rows/--n/--k are two ways to give one problem",
                "use one of them");
  }
  if (model) return true;
  if (options.groups.empty() || options.rows.empty() || options.n.empty() || options.k.empty()) {
    return fail(ErrorCode::invalid_argument, "no complete problem is given",
                "use --model NAME --tokens LIST, or all of --groups, --rows, --n and --k");
  }
  return false;
}

}  // namespace tilewright::cli
