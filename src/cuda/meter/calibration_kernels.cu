// Kernels that do one thing each (contracts: calibration.hpp).
#include <algorithm>
#include <array>
#include <cstdint>

#include "cuda/meter/calibration_kernels.hpp"
#include "cuda/cuda_error.hpp"
#include "cuda/device_buffer.hpp"
#include "cuda/launch.cuh"
#include "cuda/ptx/async_copy.cuh"
#include "cuda/ptx/barrier.cuh"
#include "cuda/ptx/grid_control.cuh"
#include "cuda/ptx/wgmma.cuh"
#include "cuda/random_bits.cuh"
#include "cuda/runtime_handles.hpp"
#include "cuda/sm90/fragment_decode.cuh"
#include "cuda/timed.hpp"

namespace tilewright::cuda {
namespace {

constexpr std::int64_t kL2Bytes = std::int64_t{24} << 20U;  // half of an H200's, and of every H100's
constexpr int kL2Passes = 64;
constexpr int kThreads = 512;
constexpr int kLoads = 8;

constexpr std::uint32_t kLines = 1U << 22U;  // of 128 bytes: 512 MiB, ten times the L2
constexpr int kHops = 8192;

constexpr int kStepTokens = 8;
constexpr int kSteps = 4;  // of a slab
constexpr int kWarpgroups = 4;
constexpr int kRounds = 1 << 16;

constexpr int kLaunches = 512;
constexpr int kRuns = 5;

/// What a thread saw of the clocks.
struct Clocks {
  long long cycles = 0;
  long long ns = 0;
};

__device__ long long global_ns() {
  long long ns = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
  return ns;
}

/// Each block reads all of the data kL2Passes times, from another place on.
__global__ void __launch_bounds__(kThreads, 2)
    read_again(const uint4* data, std::int64_t count, std::uint32_t* sink, Clocks* clocks) {
  const long long ns = global_ns();
  const long long cycles = clock64();
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  const std::int64_t first = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  std::uint32_t sum = 0;
  for (int pass = 0; pass < kL2Passes; ++pass) {
    for (std::int64_t i = first; i + (kLoads - 1) * stride < count; i += kLoads * stride) {
      uint4 v[kLoads];
#pragma unroll
      for (int j = 0; j < kLoads; ++j) {
        asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v[j].x), "=r"(v[j].y), "=r"(v[j].z), "=r"(v[j].w)
                     : "l"(data + i + j * stride));
      }
#pragma unroll
      for (int j = 0; j < kLoads; ++j) sum ^= v[j].x ^ v[j].y ^ v[j].z ^ v[j].w;
    }
  }
  sink[first] = sum;
  if (first == 0) *clocks = {clock64() - cycles, global_ns() - ns};
}

/// Line i names line (a i + c) mod 2^22: with a = 1 mod 4 and an odd c one cycle visits every line, in no order that a
/// prefetcher or a row of DRAM could follow.
__global__ void link_lines(std::uint32_t* words) {
  const std::uint32_t line = blockIdx.x * blockDim.x + threadIdx.x;
  words[std::int64_t{line} * 32] = (line * 1664525U + 1013904223U) & (kLines - 1);
}

__global__ void follow_lines(const std::uint32_t* words, std::uint32_t* sink, Clocks* clocks) {
  std::uint32_t line = 0;
  const long long ns = global_ns();
  const long long cycles = clock64();
#pragma unroll 1
  for (int hop = 0; hop < kHops; ++hop) {
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(line) : "l"(words + std::int64_t{line} * 32));
  }
  *sink = line;
  *clocks = {clock64() - cycles, global_ns() - ns};
}

template <bool kDecodes>
__global__ void __launch_bounds__(128 * kWarpgroups, 1) take_steps(std::uint32_t exponent, float* sink, Clocks* clocks) {
  __shared__ __align__(1024) std::uint32_t tokens[kStepTokens * 32];  // of 64 k
  for (int i = static_cast<int>(threadIdx.x); i < kStepTokens * 32; i += static_cast<int>(blockDim.x)) {
    tokens[i] = random_bf16_pair(static_cast<std::uint32_t>(i));
  }
  ptx::fence_proxy_async();
  __syncthreads();
  std::uint32_t codes[kSteps];
  std::uint32_t scales[kSteps / 2];
  std::uint32_t fragments[kSteps][4];
  const std::uint32_t seed = (threadIdx.x + blockIdx.x * blockDim.x) * 8;
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    codes[i] = scramble(seed + i);
    if (i < kSteps / 2) scales[i] = scramble(seed + 4 + i) & 0x03300330U;  // scales near 1
    sm90::decode_fragment(codes[i], sm90::scale_pair(scales[0], exponent), fragments[i]);
  }
  float sums[kStepTokens / 2] = {};
  const std::uint64_t descriptor = ptx::swizzled_descriptor(ptx::shared_address(tokens));
  __syncthreads();
  const long long ns = global_ns();
  const long long cycles = clock64();
#pragma unroll 1
  for (int round = 0; round < kRounds; ++round) {
    if constexpr (kDecodes) {
#pragma unroll
      for (int i = 0; i < kSteps; ++i) {
        asm volatile("" : "+r"(codes[i]), "+r"(scales[i / 2]));  // as if they had been loaded
        const std::uint32_t word = i % 2 == 0 ? scales[i / 2] : __funnelshift_r(scales[i / 2], scales[i / 2], 8);
        sm90::decode_fragment(codes[i], sm90::scale_pair(word, exponent), fragments[i]);
      }
    }
    ptx::wgmma_fence();
#pragma unroll
    for (int i = 0; i < kSteps; ++i) ptx::Wgmma<kStepTokens>::run(sums, fragments[i], descriptor + i * 2);
    ptx::wgmma_commit();
    ptx::wgmma_wait<0>();
  }
  if (threadIdx.x == 0 && blockIdx.x == 0) *clocks = {clock64() - cycles, global_ns() - ns};
  sink[blockIdx.x * blockDim.x + threadIdx.x] = sums[0] + sums[1] + sums[2] + sums[3];
}

struct NoParams {};

__global__ void do_nothing(NoParams /*params*/) {
  ptx::wait_for_dependencies();
  ptx::launch_dependents();
}

double mhz(const Clocks& clocks) { return clocks.ns > 0 ? 1e3 * static_cast<double>(clocks.cycles) / clocks.ns : 0.0; }

Result<Clocks> clocks_of(const DeviceBuffer& buffer, const char* doing) {
  Clocks clocks;
  TILEWRIGHT_TRY(cuda_status(cudaGetLastError(), doing));
  TILEWRIGHT_TRY(cuda_status(cudaMemcpy(&clocks, buffer.as(), sizeof(clocks), cudaMemcpyDeviceToHost), doing));
  return clocks;
}

}  // namespace

Result<ClockedRate> measure_l2_GBps(int sm_count) {
  constexpr const char* kDoing = "measuring the L2";
  const auto blocks = static_cast<unsigned>(2 * sm_count);
  TILEWRIGHT_ASSIGN(const DeviceBuffer data, DeviceBuffer::allocate(kL2Bytes));
  TILEWRIGHT_ASSIGN(const DeviceBuffer sink, DeviceBuffer::allocate(std::int64_t{4} * blocks * kThreads));
  TILEWRIGHT_ASSIGN(const DeviceBuffer clocks, DeviceBuffer::allocate(sizeof(Clocks)));
  TILEWRIGHT_TRY(cuda_status(cudaMemset(data.as(), 1, kL2Bytes), kDoing));
  TILEWRIGHT_ASSIGN(const Event begin, make_event());
  TILEWRIGHT_ASSIGN(const Event end, make_event());
  // What the loop reads in a pass: whole rounds of kLoads strides.
  const std::int64_t round = std::int64_t{blocks} * kThreads * kLoads;
  const std::int64_t count = kL2Bytes / 16 / round * round;
  ClockedRate best;
  for (int run = 0; run < kRuns; ++run) {
    TILEWRIGHT_ASSIGN(const double us, timed_us(begin, end, nullptr, kDoing, [&] {
                        read_again<<<blocks, kThreads>>>(data.as<const uint4>(), count, sink.as<std::uint32_t>(),
                                                         clocks.as<Clocks>());
                        return cuda_status(cudaGetLastError(), kDoing);
                      }));
    TILEWRIGHT_ASSIGN(const Clocks seen, clocks_of(clocks, kDoing));
    const double GBps = 16.0 * static_cast<double>(count) * kL2Passes / us * 1e-3;
    if (GBps > best.value) best = {GBps, mhz(seen)};
  }
  return best;
}

Result<double> measure_latency_ns() {
  constexpr const char* kDoing = "measuring the memory's latency";
  TILEWRIGHT_ASSIGN(const DeviceBuffer words, DeviceBuffer::allocate(std::int64_t{kLines} * 128));
  TILEWRIGHT_ASSIGN(const DeviceBuffer sink, DeviceBuffer::allocate(4));
  TILEWRIGHT_ASSIGN(const DeviceBuffer clocks, DeviceBuffer::allocate(sizeof(Clocks)));
  link_lines<<<kLines / 256, 256>>>(words.as<std::uint32_t>());
  std::array<double, kRuns> ns{};
  for (double& run : ns) {
    follow_lines<<<1, 1>>>(words.as<const std::uint32_t>(), sink.as<std::uint32_t>(), clocks.as<Clocks>());
    TILEWRIGHT_ASSIGN(const Clocks seen, clocks_of(clocks, kDoing));
    run = static_cast<double>(seen.ns) / kHops;
  }
  std::sort(ns.begin(), ns.end());
  return ns[kRuns / 2];
}

Result<ClockedRate> measure_step_cycles(int sm_count, bool decodes) {
  constexpr const char* kDoing = "measuring the decoder";
  const auto blocks = static_cast<unsigned>(sm_count);
  constexpr unsigned kBlock = 128 * kWarpgroups;
  TILEWRIGHT_ASSIGN(const DeviceBuffer sink, DeviceBuffer::allocate(std::int64_t{4} * blocks * kBlock));
  TILEWRIGHT_ASSIGN(const DeviceBuffer clocks, DeviceBuffer::allocate(sizeof(Clocks)));
  std::array<ClockedRate, kRuns> runs{};
  for (ClockedRate& run : runs) {
    if (decodes) {
      take_steps<true><<<blocks, kBlock>>>(sm90::kScaleExponent, sink.as<float>(), clocks.as<Clocks>());
    } else {
      take_steps<false><<<blocks, kBlock>>>(sm90::kScaleExponent, sink.as<float>(), clocks.as<Clocks>());
    }
    TILEWRIGHT_ASSIGN(const Clocks seen, clocks_of(clocks, kDoing));
    run = {static_cast<double>(seen.cycles) / (static_cast<double>(kRounds) * kSteps * kWarpgroups), mhz(seen)};
  }
  std::sort(runs.begin(), runs.end(), [](const ClockedRate& a, const ClockedRate& b) { return a.value < b.value; });
  return runs[kRuns / 2];
}

Result<double> measure_launch_us(bool dependent) {
  constexpr const char* kDoing = "measuring a launch";
  TILEWRIGHT_ASSIGN(const Stream stream, make_stream());
  TILEWRIGHT_ASSIGN(const GraphExec graph, captured(stream, kDoing, [&]() -> Status {
                      for (int i = 0; i < kLaunches; ++i) {
                        TILEWRIGHT_TRY(cuda_status(
                            enqueue(do_nothing, NoParams{}, dim3(132), 128, 0, 1, dependent, stream.get()), kDoing));
                      }
                      return {};
                    }));
  TILEWRIGHT_ASSIGN(const double us, median_us(stream.get(), kDoing, [&] {
                      return cuda_status(cudaGraphLaunch(graph.get(), stream.get()), kDoing);
                    }));
  return us / kLaunches;
}

}  // namespace tilewright::cuda
