#include "cuda/meter/meter.hpp"
#include "cuda/meter/mma_meter.cuh"
#include "cuda/ptx/block_scaled_mma.cuh"

namespace tilewright::cuda {
namespace {

constexpr int kRounds = 1 << 16;  // 14 ms at 1,024 FLOP a clock and SM and 2.4 GHz

struct Bf16Mma {
  static constexpr double kFlops = 2.0 * 16 * 8 * 16;

  __device__ static std::uint32_t operand(std::uint32_t counter) { return random_bf16_pair(counter); }
  __device__ static void run(float (&sums)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
    ptx::mma_bf16(sums, a[0], a[1], a[2], a[3], b[0], b[1]);
  }
};

}  // namespace

Result<double> measure_bf16_mma_tflops(int sm_count) {
  return measure_mma_tflops<Bf16Mma>(sm_count, kRounds, "measuring the rate of mma.sync in bf16");
}

}  // namespace tilewright::cuda
