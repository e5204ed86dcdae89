// A single weight out of the packed order of weight_order.hpp, the plain way: what kernels are checked against.
#pragma once

#include <cstdint>

#include "cuda/sm90/weight_order.hpp"

namespace tilewright::cuda::sm90 {

/// The value of the code in the given half (0: k, 1: k + 1) of a fragment's register 0..3: place_code undone.
constexpr double code_value(std::uint32_t word, int fragment_register, int half) {
  std::uint32_t bits = word >> static_cast<unsigned>(16 * half) & 0xFFFFU;
  std::uint32_t sign = bits >> 14U & 1U;
  std::uint32_t magnitude = (bits >> 13U & 1U) << 2U | (bits >> 10U & 3U);
  if (fragment_register != 3) {
    bits <<= static_cast<unsigned>(3 * fragment_register);
    sign = bits >> 15U & 1U;
    magnitude = bits >> 6U & 7U;
  }
  const double value = magnitude < 5 ? 0.5 * magnitude : magnitude == 5 ? 3.0 : magnitude == 6 ? 4.0 : 6.0;
  return sign != 0 ? -value : value;
}

/// The value of the E5M3 byte for a row half and a step's parity: place_scale undone.
constexpr double scale_value(std::uint32_t word, int row_half, int parity) {
  const auto shift = static_cast<unsigned>(4 + 16 * row_half + 8 * parity);
  const std::uint32_t byte = (word >> shift | word << (32U - shift)) & 0xFFU;
  return (8.0 + (byte & 7U)) * static_cast<double>(1U << (byte >> 3U)) / 4096.0;  // 2^(e - 9) * (1 + m / 8)
}

constexpr std::uint32_t word_at(const std::uint8_t* bytes) {
  return bytes[0] | std::uint32_t{bytes[1]} << 8U | std::uint32_t{bytes[2]} << 16U | std::uint32_t{bytes[3]} << 24U;
}

/// Weight (n, k) of a packed matrix of `slabs` slabs along K, times 1 / its global scale.
constexpr double weight_at(const std::uint8_t* matrix, std::int64_t slabs, int n, int k) {
  const std::uint8_t* slab = matrix + (n / kSlabRows * slabs + k / kSlabK) * kSlabBytes;
  const int row = n % kSlabRows;
  const int step = k % kSlabK / kStepK;
  const int kk = k % kStepK;
  const int g = row % 8;
  const int row_half = row % 16 / 8;
  const int thread = row / 16 * 32 + g * 4 + kk % 8 / 2;
  const std::uint32_t codes = word_at(slab + thread * 16 + step * 4);
  const std::uint32_t scales = word_at(slab + kSlabCodeBytes + row / 16 * kWarpScaleBytes + g * 8 + step / 2 * 4);
  return code_value(codes, row_half + kk / 8 * 2, kk % 2) * scale_value(scales, row_half, step % 2);
}

}  // namespace tilewright::cuda::sm90
