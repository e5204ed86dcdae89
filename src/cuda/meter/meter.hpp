// The limits of the current GPU, measured: what a benchmark's share is a share of.
//
//   read    every SM reads 2 GiB of device memory once, 16 bytes a load; the best of 7 passes, in 10^9 bytes a second:
//           what a kernel could reach that only reads weights
//   matrix  every SM multiplies random operands without a pause: no global memory, no decoding, no epilogue. Medians of
//           5 runs of 8 to 20 ms each, dense TFLOP/s at the clock that the power limit leaves: what a kernel could
//           reach that only multiplies
//             wgmma    m64n256k16 in bf16, weights in registers and tokens in shared memory, two warpgroups a SM: SM90
//             bf16     mma.sync m16n8k16, operands and sums in registers, sixteen warps a SM: SM90 and SM12x
//             fp4      mma.sync m16n8k64, block-scaled, the same: SM12x
//
// All allocate, launch and synchronise. On a GPU that a rate is not of, an error of the CUDA runtime.
#pragma once

#include "tilewright/result.hpp"

namespace tilewright::cuda {

/// GB/s.
Result<double> measure_read_GBps(int sm_count);

/// TFLOP/s.
Result<double> measure_wgmma_tflops(int sm_count);
Result<double> measure_bf16_mma_tflops(int sm_count);
Result<double> measure_fp4_mma_tflops(int sm_count);

}  // namespace tilewright::cuda
