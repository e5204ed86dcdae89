#include "cuda/meter/meter.hpp"
#include "cuda/meter/mma_meter.cuh"
#include "cuda/ptx/block_scaled_mma.cuh"

namespace tilewright::cuda {
namespace {

constexpr int kRounds = 1 << 16;  // 14 ms at 4,096 FLOP a clock and SM and 2.4 GHz

/// Scales of 1 for every 16 k: they cost nothing else than the register.
struct Fp4Mma {
  static constexpr double kFlops = 2.0 * 16 * 8 * 64;

  __device__ static std::uint32_t operand(std::uint32_t counter) { return scramble(counter); }
  __device__ static void run(float (&sums)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
    constexpr std::uint32_t kOnes = 0x38383838U;  // 1.0 in ue4m3
    ptx::mma_mxf4nvf4<0, 0>(sums, a, b, kOnes, kOnes);
  }
};

}  // namespace

Result<double> measure_fp4_mma_tflops(int sm_count) {
  return measure_mma_tflops<Fp4Mma>(sm_count, kRounds, "measuring the rate of the block-scaled MMA");
}

}  // namespace tilewright::cuda
