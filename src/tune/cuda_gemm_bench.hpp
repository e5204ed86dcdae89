// The GPU of this machine as a GemmBench.
#pragma once

#include <memory>

#include "tilewright/result.hpp"
#include "tune/gemm_bench.hpp"

namespace tilewright::tune {

/// `unsupported` without CUDA in this build, without a GPU, and on one that the kernels are not built for.
Result<std::unique_ptr<GemmBench>> cuda_gemm_bench();

}  // namespace tilewright::tune
