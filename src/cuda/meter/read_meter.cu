#include <algorithm>
#include <cstdint>

#include "cuda/device_buffer.hpp"
#include "cuda/meter/meter.hpp"
#include "cuda/random_bits.cuh"
#include "cuda/timed.hpp"

namespace tilewright::cuda {
namespace {

/// Forty times the L2 of an H200: what is left of the pass before it does not count.
constexpr std::int64_t kReadBytes = std::int64_t{1} << 31U;
constexpr int kReadPasses = 7;
constexpr int kReadThreads = 512;
constexpr int kReadBlocks = 2;  // a SM
constexpr int kLoads = 8;       // in flight a thread: 128 KiB a SM

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
    TILEWRIGHT_ASSIGN(const double us, timed_us(begin, end, nullptr, kDoing, [&] {
                        read_all<<<blocks, kReadThreads>>>(data.as<const uint4>(), kReadBytes / 16,
                                                           sink.as<std::uint32_t>());
                        return cuda_status(cudaGetLastError(), kDoing);
                      }));
    best = std::max(best, static_cast<double>(kReadBytes) / us * 1e-3);
  }
  return best;
}

}  // namespace tilewright::cuda
