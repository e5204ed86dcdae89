#include "cuda/meter.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "cuda/cuda_error.hpp"
#include "cuda/device_buffer.hpp"
#include "cuda/ptx/async_copy.cuh"
#include "cuda/ptx/barrier.cuh"
#include "cuda/ptx/wgmma.cuh"
#include "cuda/random_bits.cuh"
#include "cuda/runtime_handles.hpp"

namespace tilewright::cuda {
namespace {

/// Forty times the L2 of an H200: what is left of the pass before it does not count.
constexpr std::int64_t kReadBytes = std::int64_t{1} << 31U;
constexpr int kReadPasses = 7;
constexpr int kReadThreads = 512;
constexpr int kReadBlocks = 2;  // a SM
constexpr int kLoads = 8;       // in flight a thread: 128 KiB a SM

constexpr int kTokens = 256;
constexpr int kStepK = 16;  // of one wgmma
constexpr int kSteps = 4;   // of a 128-byte row of shared memory
constexpr int kTiles = 4;   // of 256 tokens x 64 k: 128 KiB
constexpr int kTileBytes = kTokens * kSteps * kStepK * 2;
constexpr int kWarpgroups = 2;  // one issues while the other drains
constexpr int kRounds = 8192;   // some 20 ms at 800 TFLOP/s on 132 SMs
constexpr int kMatrixRuns = 5;

/// Two bf16 of either sign from 0.5 up to 2.
__device__ inline std::uint32_t random_pair(std::uint32_t counter) {
  return (scramble(counter) & 0x80FF80FFU) | 0x3F003F00U;
}

__global__ void fill(std::uint32_t* words, std::int64_t count) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    words[i] = scramble(static_cast<std::uint32_t>(i));
  }
}

__device__ inline uint4 load_once(const uint4* at) {
  uint4 v;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(at));
  return v;
}

/// `count` is a multiple of kLoads; a warp's load is 512 consecutive bytes.
__global__ void __launch_bounds__(kReadThreads, kReadBlocks)
    read_all(const uint4* data, std::int64_t count, std::uint32_t* sink) {
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  const std::int64_t part = count / kLoads;
  std::uint32_t sum = 0;
  const std::int64_t first = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (std::int64_t i = first; i < part; i += threads) {
    uint4 v[kLoads];
#pragma unroll
    for (int j = 0; j < kLoads; ++j) v[j] = load_once(data + i + j * part);
#pragma unroll
    for (int j = 0; j < kLoads; ++j) sum ^= v[j].x ^ v[j].y ^ v[j].z ^ v[j].w;
  }
  sink[first] = sum;
}

__global__ void __launch_bounds__(128 * kWarpgroups, 1) multiply_all(int rounds, float* sink) {
  extern __shared__ __align__(1024) std::uint32_t tokens[];
  for (int i = static_cast<int>(threadIdx.x); i < kTiles * kTileBytes / 4; i += static_cast<int>(blockDim.x)) {
    tokens[i] = random_pair(static_cast<std::uint32_t>(i));
  }
  ptx::fence_proxy_async();
  __syncthreads();
  std::uint32_t weights[kSteps][4];
#pragma unroll
  for (int i = 0; i < 4 * kSteps; ++i) {
    weights[i / 4][i % 4] = random_pair((threadIdx.x + blockIdx.x * blockDim.x) * 4 * kSteps + i + 0x5EEDU);
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

/// Microseconds of what `enqueue` puts on the default stream.
template <typename Enqueue>
Result<double> timed(const Event& begin, const Event& end, const char* doing, const Enqueue& enqueue) {
  TILEWRIGHT_TRY(cuda_status(cudaEventRecord(begin.get()), doing));
  enqueue();
  TILEWRIGHT_TRY(cuda_status(cudaGetLastError(), doing));
  TILEWRIGHT_TRY(cuda_status(cudaEventRecord(end.get()), doing));
  TILEWRIGHT_TRY(cuda_status(cudaEventSynchronize(end.get()), doing));
  return elapsed_us(begin, end);
}

}  // namespace

Result<double> measure_read_GBps(int sm_count) {
  constexpr const char* kDoing = "measuring the read bandwidth";
  const auto blocks = static_cast<unsigned>(sm_count * kReadBlocks);
  TILEWRIGHT_ASSIGN(const DeviceBuffer data, DeviceBuffer::allocate(kReadBytes));
  TILEWRIGHT_ASSIGN(const DeviceBuffer sink, DeviceBuffer::allocate(std::int64_t{4} * blocks * kReadThreads));
  TILEWRIGHT_ASSIGN(const Event begin, make_event());
  TILEWRIGHT_ASSIGN(const Event end, make_event());
  fill<<<blocks, kReadThreads>>>(data.as<std::uint32_t>(), kReadBytes / 4);
  double best = 0.0;
  for (int pass = 0; pass < kReadPasses; ++pass) {
    TILEWRIGHT_ASSIGN(const double us, timed(begin, end, kDoing, [&] {
                        read_all<<<blocks, kReadThreads>>>(data.as<const uint4>(), kReadBytes / 16,
                                                           sink.as<std::uint32_t>());
                      }));
    best = std::max(best, static_cast<double>(kReadBytes) / us * 1e-3);
  }
  return best;
}

Result<double> measure_matrix_tflops(int sm_count) {
  constexpr const char* kDoing = "measuring the matrix rate";
  constexpr int kShared = kTiles * kTileBytes;
  const auto blocks = static_cast<unsigned>(sm_count);
  TILEWRIGHT_TRY(
      cuda_status(cudaFuncSetAttribute(multiply_all, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared), kDoing));
  TILEWRIGHT_ASSIGN(const DeviceBuffer sink, DeviceBuffer::allocate(std::int64_t{4} * blocks * 128 * kWarpgroups));
  TILEWRIGHT_ASSIGN(const Event begin, make_event());
  TILEWRIGHT_ASSIGN(const Event end, make_event());
  std::array<double, kMatrixRuns + 1> us{};  // the first warms up
  for (double& run : us) {
    TILEWRIGHT_ASSIGN(run, timed(begin, end, kDoing, [&] {
                        multiply_all<<<blocks, 128 * kWarpgroups, kShared>>>(kRounds, sink.as<float>());
                      }));
  }
  std::sort(us.begin() + 1, us.end());
  const double flops = 2.0 * 64 * kTokens * kStepK * kTiles * kSteps * kRounds * kWarpgroups * sm_count;
  return flops / us[1 + kMatrixRuns / 2] * 1e-6;
}

}  // namespace tilewright::cuda
