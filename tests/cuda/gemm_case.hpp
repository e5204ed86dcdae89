// One grouped GEMM of random weights and rows, run on the device and compared with exact sums in double.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cuda/sm90/grouped_gemm.hpp"

namespace tilewright::cuda {

struct GemmCase {
  int n = 0;  ///< weight rows; gate and up together where the epilogue is gated
  int k = 0;
  std::vector<int> counts;  ///< rows of each expert
  int blocks = 0;           ///< of the launch; 0: as many as the device runs at a time
  unsigned seed = 1;
};

struct GemmOutcome {
  std::vector<std::uint16_t> y;  ///< bf16 bits, poisoned before the run
  double worst = 0.0;            ///< largest error of the checked values, in units of what rounding explains
  std::string where;             ///< of the worst
  std::size_t unwritten = 0;     ///< values of y that still hold the poison
  bool flags_clear = false;      ///< whether the stream-K flags are zero again
};

/// Runs `repeats` times (the outputs of all but the first must be the same bits, else `worst` is infinite) and checks
/// `samples` values, every row among them. An error of 1 is half a unit in the last place of bf16 plus what fp32
/// accumulation may do (at most 8e-7 of the sum of the magnitudes that were added), carried through the activation,
/// whose fast exponential may add 1e-5 of the value.
GemmOutcome run_case(const sm90::BuiltGemm& gemm, const GemmCase& test, int repeats = 1, int samples = 1500);

}  // namespace tilewright::cuda
