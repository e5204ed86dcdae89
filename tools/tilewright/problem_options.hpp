// How the command line gives a problem: a model with tokens and ranks, or the sizes of one grouped GEMM.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tilewright/model.hpp"
#include "tilewright/precision.hpp"
#include "tilewright/problem.hpp"

namespace tilewright::cli {

/// The options as they were typed; every number may be a list or a range (number_list.hpp).
struct ProblemOptions {
  std::string model;
  std::string tokens;
  std::string tp = "1";
  std::string ep = "1";
  std::string precision;  ///< empty: what the device runs by default
  std::string distribution = "uniform_random";
  double alpha = 1.2;
  std::string counts;
  bool pad_intermediate = false;
  std::string groups, rows, n, k;
};

void declare_model_options(CLI::App& command, ProblemOptions& options);
void declare_gemm_options(CLI::App& command, ProblemOptions& options);

/// Facts of a model given as a known name, a config.json, or a folder that holds one. A file that is there wins over a
/// name.
Result<ModelFacts> model_named(const std::string& text);

/// The precisions of a comma-separated list; `otherwise` where the text is empty.
Result<std::vector<Precision>> precisions_of(const std::string& text, Precision otherwise);

/// Every layer problem that the options multiply out to: tp, then ep, then precision, then tokens runs fastest.
Result<std::vector<LayerProblem>> layer_problems(const ProblemOptions& options, Precision otherwise);

/// Every grouped GEMM that --groups, --rows, --n, --k and --precision multiply out to.
Result<std::vector<GemmProblem>> gemm_problems(const ProblemOptions& options, Precision otherwise);

/// True when the options give a model, false when they give sizes; both or neither is an error that says what to write.
Result<bool> gives_model(const ProblemOptions& options);

}  // namespace tilewright::cli
