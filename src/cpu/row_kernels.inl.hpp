// RowKernels for the translation units of the instruction sets. Internal linkage on purpose: the copies must never be
// merged.
#pragma once

#include <array>
#include <bit>
#include <cstring>

#include "cpu/activation_block.inl.hpp"
#include "cpu/row_kernels.hpp"
#include "cpu/tile_layout.hpp"

namespace tilewright::cpu {
namespace {  // NOLINT(google-build-namespaces,cert-dcl59-cpp): see above

/// As integers, so that the loop vectorises and a NaN counts as the largest.
std::int32_t largest_bits(const float* x, std::int64_t n) {
  std::int32_t largest = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int32_t bits = std::bit_cast<std::int32_t>(x[k]) & 0x7FFFFFFF;
    largest = bits > largest ? bits : largest;
  }
  return largest;
}

inline std::uint32_t pair_word(std::int32_t low, std::int32_t high) {
  return static_cast<std::uint16_t>(low) | (static_cast<std::uint32_t>(static_cast<std::uint16_t>(high)) << 16U);
}

inline void store_word(std::uint8_t* p, std::uint32_t word) { std::memcpy(p, &word, sizeof(word)); }

/// Fills in the corrections and multipliers of a record whose planes are set.
inline void finish_record(std::uint8_t* record, RowFormat format, float multiplier) {
  const int planes = planes_of(format);
  for (int p = 0; p < planes; ++p) {
    const auto* plane = reinterpret_cast<const std::int8_t*>(record) + p * kBlock;
    std::uint8_t* correction = record + planes * kBlock + p * 4;
    std::uint8_t* factor = record + planes * (kBlock + 4) + p * 4;
    std::array<std::int32_t, 4> sums{};  // of the k with k % 4 == 0, 1, 2, 3
    for (int step = 0; step < kBlock; step += 4) {
      for (int k = 0; k < 4; ++k) sums[static_cast<std::size_t>(k)] += plane[step + k];
    }
    const std::int32_t low = -kWeightOffset * (sums[0] + sums[1]);
    const std::int32_t high = -kWeightOffset * (sums[2] + sums[3]);
    if (format == RowFormat::codes_pair16 || format == RowFormat::wide_pair16) {
      store_word(correction, pair_word(low, high));
      const auto m = static_cast<std::int32_t>(multiplier) * (planes == 2 && p == 0 ? 256 : 1);
      store_word(factor, pair_word(m, m));
    } else {
      store_word(correction, static_cast<std::uint32_t>(low + high));
      store_word(factor, std::bit_cast<std::uint32_t>(multiplier));
    }
  }
}

void wide_record(const float* x, float inverse_unit, float multiplier, RowFormat format, std::uint8_t* record) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to nearest, the integer in the low bits
  auto* planes = reinterpret_cast<std::int8_t*>(record);
  for (int k = 0; k < kBlock; ++k) {
    const std::int32_t q = std::bit_cast<std::int32_t>(x[k] * inverse_unit + kRound) - 0x4B400000;
    const std::int32_t high = (q + 128) >> 8;
    planes[k] = static_cast<std::int8_t>(high);
    planes[kBlock + k] = static_cast<std::int8_t>(q - high * 256);
  }
  finish_record(record, format, multiplier);
}

/// Twice the e2m1 value nearest to x: the boundaries of encode_e2m1, each adding the step that it leads to.
inline std::int32_t doubled_e2m1(float x) {
  const std::int32_t bits = std::bit_cast<std::int32_t>(x);
  const float magnitude = std::bit_cast<float>(bits & 0x7FFFFFFF);
  const std::int32_t value = (magnitude > 0.25F ? 1 : 0) + (magnitude >= 0.75F ? 1 : 0) + (magnitude > 1.25F ? 1 : 0) +
                             (magnitude >= 1.75F ? 1 : 0) + (magnitude > 2.5F ? 2 : 0) + (magnitude >= 3.5F ? 2 : 0) +
                             (magnitude > 5.0F ? 4 : 0);
  return bits < 0 ? -value : value;
}

void codes_record(const float* x, float code_multiplier, float multiplier, RowFormat format, std::uint8_t* record) {
  auto* plane = reinterpret_cast<std::int8_t*>(record);
  for (int k = 0; k < kBlock; ++k) plane[k] = static_cast<std::int8_t>(doubled_e2m1(x[k] * code_multiplier));
  finish_record(record, format, multiplier);
}

constexpr RowKernels kRowKernels = {largest_bits, wide_record, codes_record, activate_block};

}  // namespace
}  // namespace tilewright::cpu
