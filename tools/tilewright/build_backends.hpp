// The backends of this build, as info and its doctor tell them.
#pragma once

#include <string>

#include "tools/tilewright/report.hpp"

namespace tilewright::cli {

/// Whether this build has CUDA kernels, wherever it runs.
bool has_cuda_kernels();

/// Names of the backends that are built.
Json backends_json();

/// Whether there are CUDA kernels and whether they run here, and why not.
std::string cuda_words();

/// What there is of kernels for SM120 and SM121, and where they have run.
std::string sm12x_words();

}  // namespace tilewright::cli
