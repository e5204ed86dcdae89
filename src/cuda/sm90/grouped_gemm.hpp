// Grouped GEMMs on an SM90 GPU, from the host: which are built, what they need, how they are enqueued.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

#include "cuda/grouped/launch_checks.hpp"
#include "cuda/sm90/gemm_params.hpp"
#include "tilewright/result.hpp"
#include "tilewright/schedule.hpp"
#include "tilewright/sm90_catalogue.hpp"

namespace tilewright::cuda::sm90 {

struct BuiltGemm {
  Schedule schedule;
  /// Lets the kernel have its shared memory; once for each device, before the first launch.
  cudaError_t (*prepare)();
  /// Enqueues the kernel with `blocks` blocks. `dependent`: it may start while the kernel before it drains, and waits
  /// for that one's results itself.
  cudaError_t (*launch)(const GemmParams& params, int blocks, bool dependent, cudaStream_t stream);
};

/// The kernels of tile `kTile` of kSm90Tiles, one an ending; each tile is a translation unit of its own (gemms.cu).
template <int kTile>
std::span<const BuiltGemm> gemms_of_tile();

/// All of them, tile by tile.
std::span<const BuiltGemm> built_gemms();

/// The kernel of exactly this schedule, or `unsupported`.
Result<const BuiltGemm*> find_gemm(const Schedule& schedule);

/// Blocks of a launch on a device with `sm_count` SMs: all that are resident at a time, which stream-K relies on.
int launch_blocks(const Schedule& schedule, int sm_count);

/// Enqueues one grouped GEMM; no synchronisation, no allocation. `rows` is the largest number of grouped rows that
/// all row_ranges together can have. Errors, before anything is enqueued: sizes that the kernel does not take
/// (`invalid_argument`), more tiles than it can count (`exhausted`), and what the CUDA runtime says of the launch.
Status launch_gemm(const BuiltGemm& gemm, const GemmParams& params, std::int64_t rows, int blocks, bool dependent,
                   cudaStream_t stream);

}  // namespace tilewright::cuda::sm90
