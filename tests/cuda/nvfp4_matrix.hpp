// Random NVFP4 matrices and their values in double.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "tilewright/expert_weights.hpp"

namespace tilewright::cuda {

inline double e2m1(unsigned code) {
  constexpr double kValues[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return (code & 8U) != 0 ? -kValues[code & 7U] : kValues[code & 7U];
}

inline double ue4m3(unsigned byte) {
  const unsigned exponent = byte >> 3U & 15U;
  const double mantissa = byte & 7U;
  return exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8.0 + mantissa, static_cast<int>(exponent) - 10);
}

inline double bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U); }

struct Matrix {
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
  Nvfp4Matrix view;
};

/// Any code; scales over the whole range, zeros, a signed -0, subnormals and the largest among them.
inline Matrix random_matrix(int rows, int k, std::mt19937& random) {
  Matrix m;
  m.codes.resize(static_cast<std::size_t>(rows) * k / 2);
  m.scales.resize(static_cast<std::size_t>(rows) * k / 16);
  for (auto& byte : m.codes) byte = static_cast<std::uint8_t>(random());
  for (auto& byte : m.scales) {
    const unsigned pick = random() % 64;
    const unsigned usual = 0x28 + random() % 32;
    byte = static_cast<std::uint8_t>(pick == 0   ? 0
                                     : pick == 1 ? 1 + random() % 7
                                     : pick == 2 ? 0x7E
                                     : pick == 3 ? 0x80
                                                 : usual);
  }
  m.view.codes = m.codes.data();
  m.view.scales = m.scales.data();
  m.view.rows = m.view.valid_rows = rows;
  m.view.cols = m.view.valid_cols = k;
  m.view.code_row_stride = k / 2;
  m.view.scale_row_stride = k / 16;
  m.view.global_scale = 0.002F * static_cast<float>(1 + random() % 5);
  return m;
}

/// The value of element k of row n, without the global scale.
inline double element(const Matrix& m, std::int64_t n, std::int64_t k) {
  const unsigned byte = m.codes[static_cast<std::size_t>(n * m.view.cols / 2 + k / 2)];
  return e2m1(k % 2 != 0 ? byte >> 4U : byte & 15U) *
         ue4m3(m.scales[static_cast<std::size_t>(n * m.view.cols / 16 + k / 16)] & 0x7FU);
}

}  // namespace tilewright::cuda
