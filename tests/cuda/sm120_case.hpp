// One grouped GEMM of SM120's kernels on random NVFP4 weights and tokens in NVFP4 or bf16, compared with exact sums in
// double.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cuda/sm120/grouped_gemm.hpp"

namespace tilewright::cuda {

struct Sm120Case {
  int n = 0;  ///< weight rows; gate and up together where the epilogue is gated
  int k = 0;
  std::vector<int> counts;  ///< rows of each expert
  int blocks = 0;           ///< of the launch; 0: one a SM
  unsigned seed = 1;
};

struct Sm120Outcome {
  std::vector<std::uint8_t> y;  ///< as the kernel left it, poisoned before the run
  double worst = 0.0;           ///< values in bf16: largest error in units of what rounding explains
  std::string where;
  std::size_t unwritten = 0;      ///< rows of bf16: values that still hold the poison
  std::size_t blocks = 0;         ///< NVFP4: blocks of 16 that were checked
  std::size_t other_blocks = 0;   ///< of those, how many have another scale or code than the reference's
  std::size_t wrong_blocks = 0;   ///< of those, how many are off by more than a rounding moved by the sums' order
  std::size_t dirty_padding = 0;  ///< tile order: blocks of K's and the rows' padding that are not zero
  bool flags_clear = false;
};

/// An error of 1 is half a unit in the last place of bf16 plus what fp32 accumulation may do. `repeats` runs must leave
/// the same bits, else `worst` is infinite.
Sm120Outcome run_case(const sm120::BuiltGemm& gemm, const Schedule& schedule, const Sm120Case& test, int repeats = 1);

}  // namespace tilewright::cuda
