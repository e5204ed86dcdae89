// Every SM multiplies by one mma.sync without a pause: operands and sums stay in registers. An Mma has what a warp does
// once with `a` and `b`, which never change, and the FLOPs of it.
#pragma once

#include <cstdint>

#include "cuda/device_buffer.hpp"
#include "cuda/random_bits.cuh"
#include "cuda/timed.hpp"

namespace tilewright::cuda {

constexpr int kMmaThreads = 512;
constexpr int kMmaSums = 8;  ///< in flight a warp: sixteen warps with as many hide the latency of any mma.sync

template <typename Mma>
__global__ void __launch_bounds__(kMmaThreads, 1) multiply_in_registers(int rounds, float* sink) {
  const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  std::uint32_t a[4];
  std::uint32_t b[kMmaSums][2];
  float sums[kMmaSums][4] = {};
#pragma unroll
  for (int i = 0; i < 4; ++i) a[i] = Mma::operand(thread * 32 + i);
#pragma unroll
  for (int i = 0; i < kMmaSums; ++i) {
    b[i][0] = Mma::operand(thread * 32 + 4 + 2 * i);
    b[i][1] = Mma::operand(thread * 32 + 5 + 2 * i);
  }
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < kMmaSums; ++i) Mma::run(sums[i], a, b[i]);
  }
  float total = 0.0F;
#pragma unroll
  for (int i = 0; i < 4 * kMmaSums; ++i) total += sums[i / 4][i % 4];
  sink[thread] = total;
}

/// TFLOP/s over `sm_count` SMs.
template <typename Mma>
Result<double> measure_mma_tflops(int sm_count, int rounds, const char* doing) {
  const auto blocks = static_cast<unsigned>(sm_count);
  TILEWRIGHT_ASSIGN(const DeviceBuffer sink, DeviceBuffer::allocate(std::int64_t{4} * blocks * kMmaThreads));
  TILEWRIGHT_ASSIGN(const double us, median_us(nullptr, doing, [&] {
                      multiply_in_registers<Mma><<<blocks, kMmaThreads>>>(rounds, sink.as<float>());
                      return cuda_status(cudaGetLastError(), doing);
                    }));
  return Mma::kFlops * kMmaSums * (kMmaThreads / 32) * rounds * sm_count / us * 1e-6;
}

}  // namespace tilewright::cuda
