// Counting the codes and block scales of NVFP4 matrices.
#pragma once

#include <array>
#include <cstdint>

#include "tilewright/expert_weights.hpp"

namespace tilewright {

struct MatrixStatistics {
  std::array<std::int64_t, 256> scales{};  ///< by scale byte
  std::int64_t weights = 0;
  std::int64_t zero_codes = 0;           ///< codes 0 and 8
  std::int64_t negative_zero_codes = 0;  ///< code 8
  std::int64_t zero_scales_with_codes = 0;
};

/// Adds every code and scale of a matrix.
void count_matrix(const Nvfp4Matrix& matrix, MatrixStatistics& statistics);

}  // namespace tilewright
