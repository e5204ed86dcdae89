// Where a layer runs, and on whose kernels, as the command line says it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tilewright/moe_layer.hpp"
#include "tilewright/precision.hpp"

namespace tilewright::cli {

struct BackendOptions {
  std::string backend = "cpu";
  std::string arch;          ///< empty: the GPU's own
  bool emulate_mma = false;  ///< SM120's kernels on another GPU
};

/// --backend, --arch and --emulate-mma; `group` as in the help, empty for the verb's first.
void declare_backend_options(CLI::App& command, BackendOptions& options, const std::string& backend_does,
                             const std::string& group);

/// The backend and its kernels; the precision is left alone. Names that are not known are errors.
Result<MoeLayerOptions> layer_options(const BackendOptions& options);

/// The precisions of a list; where it is empty, w4a4 for kernels of an architecture that multiplies FP4, else w4a16.
Result<std::vector<Precision>> layer_precisions(const std::string& text, const MoeLayerOptions& how);

/// "cuda", "cuda, sm_120 kernels, MMA emulated".
std::string describe(const MoeLayerOptions& how);

}  // namespace tilewright::cli
