// Activations on their way into GEMM1 where it does not gather them as they are (contracts: moe_kernels.hpp).
#include <cuda_bf16.h>

#include "cuda/launch.cuh"
#include "cuda/moe/moe_kernels.hpp"
#include "cuda/ptx/grid_control.cuh"

namespace tilewright::cuda {
namespace {

using sm90::kSlabK;

constexpr int kThreads = 256;
constexpr int kChunk = 8;  // bf16 values of 16 bytes

/// Chunk `chunk` of a row's K in tile order.
__device__ uint4* chunk_of(const ArrangeParams& p, std::int64_t row, int chunk) {
  constexpr int kSlabChunks = kSlabK / kChunk;
  const std::int64_t at = (chunk / kSlabChunks * p.group_rows + row) * kSlabChunks;
  return static_cast<uint4*>(p.tiles) + at + (chunk % kSlabChunks ^ static_cast<int>(row % kRowGroup));
}

__device__ int chunks_of(int hidden) { return (hidden + kSlabK - 1) / kSlabK * (kSlabK / kChunk); }

__device__ void arrange_token(const ArrangeParams& p, int token) {
  const auto* x = static_cast<const uint4*>(p.x) + static_cast<std::int64_t>(token) * (p.hidden / kChunk);
  const std::int32_t* rows = p.slot_rows + static_cast<std::int64_t>(token) * p.top_k;
  for (int chunk = static_cast<int>(threadIdx.x); chunk < chunks_of(p.hidden); chunk += kThreads) {
    const uint4 values = chunk < p.hidden / kChunk ? x[chunk] : uint4{};
    for (int slot = 0; slot < p.top_k; ++slot) {
      if (rows[slot] >= 0) *chunk_of(p, rows[slot], chunk) = values;
    }
  }
}

__device__ void clear_padding(const ArrangeParams& p, int expert) {
  const RowRange range = p.ranges[expert];
  const int end = (range.rows + kRowGroup - 1) / kRowGroup * kRowGroup;
  for (int row = range.rows; row < end; ++row) {
    for (int chunk = static_cast<int>(threadIdx.x); chunk < chunks_of(p.hidden); chunk += kThreads) {
      *chunk_of(p, range.begin + row, chunk) = uint4{};
    }
  }
}

__global__ void __launch_bounds__(kThreads) arrange_tokens(ArrangeParams p) {
  ptx::wait_for_dependencies();
  ptx::launch_dependents();
  const auto block = static_cast<int>(blockIdx.x);
  if (block < p.tokens) {
    arrange_token(p, block);
  } else {
    clear_padding(p, block - p.tokens);
  }
}

__global__ void __launch_bounds__(kThreads) scale_tokens(ScaleParams p) {
  ptx::wait_for_dependencies();
  ptx::launch_dependents();
  const auto slot = static_cast<std::int64_t>(blockIdx.x);
  const float weight = p.weights[slot];
  const auto* x = static_cast<const __nv_bfloat162*>(p.x) + slot / p.top_k * (p.hidden / 2);
  auto* to = static_cast<__nv_bfloat162*>(p.scaled) + slot * (p.hidden / 2);
  for (int i = static_cast<int>(threadIdx.x); i < p.hidden / 2; i += kThreads) {
    const float2 pair = __bfloat1622float2(x[i]);
    to[i] = __floats2bfloat162_rn(pair.x * weight, pair.y * weight);
  }
}

}  // namespace

cudaError_t enqueue_arrange(const ArrangeParams& params, cudaStream_t stream) {
  return enqueue(arrange_tokens, params, dim3(static_cast<unsigned>(params.tokens + params.experts)), kThreads, 0, 1,
                 true, stream);
}

cudaError_t enqueue_scale(const ScaleParams& params, cudaStream_t stream) {
  return enqueue(scale_tokens, params, dim3(static_cast<unsigned>(params.slots)), kThreads, 0, 1, true, stream);
}

}  // namespace tilewright::cuda
