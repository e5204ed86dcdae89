// Kernels that make a grouped GEMM's random operands on the device and look at its numbers there.
//
// Weights are random words in the packed order of weight_order.hpp, which is the same whatever the shape: any run of
// slabs is a matrix of any size. So one pool of them serves every problem.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda/sm90/gemm_params.hpp"
#include "tilewright/schedule.hpp"

namespace tilewright::cuda {

/// Random codes under random scales from 0.5 to 7.5, none zero, in `slabs` slabs.
cudaError_t enqueue_random_slabs(std::uint8_t* slabs, std::int64_t count, cudaStream_t stream);

/// Random bf16 of either sign from 0.25 to 2, `pairs` times two of them. With `k` not 0 they are rows of k in tile
/// order, of `group_rows` grouped rows, and those past k in the last slab are zeros.
cudaError_t enqueue_random_rows(void* rows, std::int64_t pairs, int k, std::int64_t group_rows, cudaStream_t stream);

/// What was found wrong with y.
struct CheckCounts {
  unsigned long long values = 0;      ///< that were looked at
  unsigned long long wrong = 0;       ///< farther from what they should be than rounding explains
  unsigned long long not_finite = 0;  ///< NaN, which y is poisoned with, or infinite; these are wrong too
  double squares = 0;                 ///< sum of y^2, of finite values
};

/// y of one launch.
struct CheckParams {
  sm90::GemmParams gemm;  ///< as launched; of GEMM1 x is rows, also where the kernel took them in tile order
  Epilogue epilogue = Epilogue::bf16;
  const void* reference = nullptr;  ///< compare_outputs: y of another kernel for the same launch
  double reference_rms = 0;
  CheckCounts* counts = nullptr;  ///< on the device, zero before
};

/// Looks at `samples` values of each expert with rows, its last row and channel among them, and sums each up in double
/// from the packed weights. An error may be what rounding to bf16 explains plus what fp32 accumulation may do.
cudaError_t enqueue_check_samples(const CheckParams& params, int samples, cudaStream_t stream);

/// Compares every value with `reference`: two roundings to bf16 of sums in another order.
cudaError_t enqueue_compare_outputs(const CheckParams& params, cudaStream_t stream);

}  // namespace tilewright::cuda
