#include <cstdint>

#include "cuda/device_buffer.hpp"
#include "cuda/meter/meter.hpp"
#include "cuda/ptx/async_copy.cuh"
#include "cuda/ptx/barrier.cuh"
#include "cuda/ptx/wgmma.cuh"
#include "cuda/random_bits.cuh"
#include "cuda/timed.hpp"

namespace tilewright::cuda {
namespace {

constexpr int kTokens = 256;
constexpr int kStepK = 16;  // of one wgmma
constexpr int kSteps = 4;   // of a 128-byte row of shared memory
constexpr int kTiles = 4;   // of 256 tokens x 64 k: 128 KiB
constexpr int kTileBytes = kTokens * kSteps * kStepK * 2;
constexpr int kWarpgroups = 2;  // one issues while the other drains
constexpr int kRounds = 8192;   // some 20 ms at 800 TFLOP/s on 132 SMs

__global__ void __launch_bounds__(128 * kWarpgroups, 1) multiply_all(int rounds, float* sink) {
  extern __shared__ __align__(1024) std::uint32_t tokens[];
  for (int i = static_cast<int>(threadIdx.x); i < kTiles * kTileBytes / 4; i += static_cast<int>(blockDim.x)) {
    tokens[i] = random_bf16_pair(static_cast<std::uint32_t>(i));
  }
  ptx::fence_proxy_async();
  __syncthreads();
  std::uint32_t weights[kSteps][4];
#pragma unroll
  for (int i = 0; i < 4 * kSteps; ++i) {
    weights[i / 4][i % 4] = random_bf16_pair((threadIdx.x + blockIdx.x * blockDim.x) * 4 * kSteps + i + 0x5EEDU);
  }
  float sums[kTokens / 2];
#pragma unroll
  for (int i = 0; i < kTokens / 2; ++i) sums[i] = 0.0F;
  const std::uint64_t descriptor = ptx::swizzled_descriptor(ptx::shared_address(tokens));
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
    ptx::wgmma_fence();
#pragma unroll
    for (int i = 0; i < kTiles * kSteps; ++i) {
      // In units of 16 bytes: a tile, then a step along its rows.
      ptx::Wgmma<kTokens>::run(sums, weights[i % kSteps], descriptor + i / kSteps * (kTileBytes / 16) + i % kSteps * 2);
    }
    ptx::wgmma_commit();
    ptx::wgmma_wait<0>();
  }
  float total = 0.0F;
#pragma unroll
  for (int i = 0; i < kTokens / 2; ++i) total += sums[i];
  sink[blockIdx.x * blockDim.x + threadIdx.x] = total;
}

}  // namespace

Result<double> measure_wgmma_tflops(int sm_count) {
  constexpr const char* kDoing = "measuring the rate of wgmma";
  constexpr int kShared = kTiles * kTileBytes;
  const auto blocks = static_cast<unsigned>(sm_count);
  TILEWRIGHT_TRY(
      cuda_status(cudaFuncSetAttribute(multiply_all, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared), kDoing));
  TILEWRIGHT_ASSIGN(const DeviceBuffer sink, DeviceBuffer::allocate(std::int64_t{4} * blocks * 128 * kWarpgroups));
  TILEWRIGHT_ASSIGN(const double us, median_us(nullptr, kDoing, [&] {
                      multiply_all<<<blocks, 128 * kWarpgroups, kShared>>>(kRounds, sink.as<float>());
                      return cuda_status(cudaGetLastError(), kDoing);
                    }));
  return 2.0 * 64 * kTokens * kStepK * kTiles * kSteps * kRounds * kWarpgroups * sm_count / us * 1e-6;
}

}  // namespace tilewright::cuda
