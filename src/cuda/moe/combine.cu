// The weighted rows of each token become its output (contract: moe_kernels.hpp). A thread has 8 channels of a token;
// its loads of up to 8 slots are in flight together, and are added in slot order.
#include <cuda_bf16.h>

#include "cuda/launch.cuh"
#include "cuda/moe/moe_kernels.hpp"
#include "cuda/ptx/grid_control.cuh"

namespace tilewright::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kChunk = 8;  // bf16 values of 16 bytes
constexpr int kTogether = 8;

__device__ void add(float (&sums)[kChunk], const uint4& chunk) {
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&chunk);
#pragma unroll
  for (int i = 0; i < kChunk / 2; ++i) {
    const float2 pair = __bfloat1622float2(pairs[i]);
    sums[2 * i] += pair.x;
    sums[2 * i + 1] += pair.y;
  }
}

__device__ void store(const CombineParams& p, std::int64_t at, const float (&sums)[kChunk]) {
  if (p.y_bf16) {
    uint4 chunk;
    auto* pairs = reinterpret_cast<__nv_bfloat162*>(&chunk);
#pragma unroll
    for (int i = 0; i < kChunk / 2; ++i) pairs[i] = __floats2bfloat162_rn(sums[2 * i], sums[2 * i + 1]);
    static_cast<uint4*>(p.y)[at] = chunk;
    return;
  }
  static_cast<float4*>(p.y)[2 * at] = make_float4(sums[0], sums[1], sums[2], sums[3]);
  static_cast<float4*>(p.y)[2 * at + 1] = make_float4(sums[4], sums[5], sums[6], sums[7]);
}

__global__ void __launch_bounds__(kThreads) combine_rows(CombineParams p) {
  ptx::wait_for_dependencies();
  ptx::launch_dependents();
  const auto token = static_cast<std::int64_t>(blockIdx.x);
  const int chunks = p.hidden / kChunk;
  const int chunk = static_cast<int>(blockIdx.y) * kThreads + static_cast<int>(threadIdx.x);
  if (chunk >= chunks) return;
  const std::int32_t* slot_rows = p.slot_rows + token * p.top_k;
  const auto* rows = static_cast<const uint4*>(p.rows) + token * p.top_k * chunks + chunk;
  float sums[kChunk] = {};
  for (int first = 0; first < p.top_k; first += kTogether) {
    uint4 values[kTogether];
    bool has_row[kTogether];
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      has_row[i] = first + i < p.top_k && slot_rows[first + i] >= 0;
      if (has_row[i]) values[i] = __ldcs(rows + static_cast<std::int64_t>(first + i) * chunks);
    }
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      if (has_row[i]) add(sums, values[i]);
    }
  }
  store(p, token * chunks + chunk, sums);
}

}  // namespace

cudaError_t enqueue_combine(const CombineParams& params, cudaStream_t stream) {
  const auto columns = static_cast<unsigned>((params.hidden / kChunk + kThreads - 1) / kThreads);
  return enqueue(combine_rows, params, dim3(static_cast<unsigned>(params.tokens), columns), kThreads, 0, 1, true,
                 stream);
}

}  // namespace tilewright::cuda
