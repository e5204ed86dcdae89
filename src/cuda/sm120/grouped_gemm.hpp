// Grouped GEMMs of SM120's schedules, from the host: which are built, what they need, how they are enqueued.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

#include "cuda/grouped/launch_checks.hpp"
#include "cuda/sm120/gemm_params.hpp"
#include "tilewright/result.hpp"
#include "tilewright/schedule.hpp"
#include "tilewright/sm120_catalogue.hpp"

namespace tilewright::cuda::sm120 {

/// What multiplies (block_mma.cuh, bf16_mma.cuh), and on which GPUs.
enum class MmaPolicy : std::uint8_t {
  native,     ///< on SM120 and SM121 alone
  emulated,   ///< on SM90 here: the same kernel on another GPU. Of w4a16 the MMA too is the same one
  feed_only,  ///< on SM90: nothing, to see how fast fragments arrive; endings in bf16 of w4a4 alone
};
const char* to_string(MmaPolicy policy);

/// A kernel: of `deepest` and of the same schedule with fewer stages, down to two, and with stream-K where
/// sm120_splits.
struct BuiltGemm {
  Schedule deepest;
  MmaPolicy policy = MmaPolicy::native;
  /// Lets the kernel have its shared memory; once for each device, before the first launch.
  cudaError_t (*prepare)();
  /// Enqueues it with `shared_bytes` of shared memory and `blocks` blocks. `dependent`: it may start while the kernel
  /// before it drains, and waits for that one's results itself.
  cudaError_t (*launch)(const GemmParams& params, int shared_bytes, int blocks, bool dependent, cudaStream_t stream);
};

/// The kernels of tile `kTile` of kSm120Tiles; each tile is three translation units (gemms.cu).
template <int kTile>
std::span<const BuiltGemm> native_gemms();
template <int kTile>
std::span<const BuiltGemm> emulated_gemms();
template <int kTile>
std::span<const BuiltGemm> w4a16_gemms();

/// All of them, tile by tile.
std::span<const BuiltGemm> built_gemms();

/// Whether a kernel takes exactly this schedule.
bool takes(const BuiltGemm& gemm, const Schedule& schedule);

/// The kernel of a schedule with this MMA, or `unsupported`.
Result<const BuiltGemm*> find_gemm(const Schedule& schedule, MmaPolicy policy);

/// Enqueues one grouped GEMM by `schedule`, one that the kernel takes; it sets params.stages and stream_k. No
/// synchronisation, no allocation. `rows` is the largest number of grouped rows that all row_ranges together can have.
/// Errors, before anything is enqueued: a schedule or sizes that the kernel does not take (`invalid_argument`), more
/// tiles than it can count (`exhausted`), and what the CUDA runtime says of the launch.
Status launch_gemm(const BuiltGemm& gemm, const Schedule& schedule, GemmParams params, std::int64_t rows, int blocks,
                   bool dependent, cudaStream_t stream);

}  // namespace tilewright::cuda::sm120
