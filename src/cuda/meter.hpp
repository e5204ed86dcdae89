// The limits of the current GPU, measured: what a benchmark's share is a share of.
//
//   read    every SM reads 2 GiB of device memory once, 16 bytes a load; the best of 7 passes, in 10^9 bytes a second.
//   matrix  every SM runs wgmma m64n256k16 (bf16 operands, fp32 sums) without a pause, two warpgroups a SM: weights in
//           registers, tokens in shared memory, both random; no global memory, no decoding, no epilogue. The median of
//           5 runs of some 20 ms each, dense TFLOP/s, at the clock that the power limit leaves for such operands.
//
// The first is what a kernel that only reads weights could reach, the second one that only multiplies. Both allocate,
// launch and synchronise.
#pragma once

#include "tilewright/result.hpp"

namespace tilewright::cuda {

/// GB/s.
Result<double> measure_read_GBps(int sm_count);

/// TFLOP/s.
Result<double> measure_matrix_tflops(int sm_count);

}  // namespace tilewright::cuda
