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

template <typename T>
inline void store(std::uint8_t* p, T value) {
  std::memcpy(p, &value, sizeof(value));
}

/// Two equal int16.
inline std::int32_t pair_of(std::int32_t m) { return (m & 0xFFFF) | (m << 16); }

/// Fills in the corrections and multipliers of a record whose planes are set.
inline void finish_record(std::uint8_t* record, RowFormat format, float multiplier) {
  const int planes = planes_of(format);
  std::int32_t correction = 0;  // of all planes as one number
  for (int p = 0; p < planes; ++p) {
    const auto* plane = reinterpret_cast<const std::int8_t*>(record) + p * kBlock;
    std::int32_t sum = 0;
    for (int k = 0; k < kBlock; ++k) sum += plane[k];
    correction = correction * 256 - kWeightOffset * sum;
    if (is_pair16(format)) {
      const auto m = static_cast<std::int32_t>(multiplier) * (planes == 2 && p == 0 ? 256 : 1);
      store(record + multiplier_offset(planes, p), pair_of(m));
    } else {
      store(record + multiplier_offset(planes, p), multiplier);
      store(record + correction_offset(planes, p), -kWeightOffset * sum);
    }
  }
  if (is_pair16(format)) {
    store(record + correction_offset(planes, 0), static_cast<float>(correction) * multiplier);
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

/// The upper halves of 16 floats as a bf16 record: the pairs (0, 2), (1, 3), (4, 6), (5, 7) and so on, the order in
/// which the kernels decode weights.
inline void store_bf16(const float* x, std::uint8_t* record) {
  std::uint64_t fours[kBlock / 4];
  for (int i = 0; i < kBlock / 4; ++i) {
    std::uint32_t bits[4];
    std::memcpy(bits, x + 4 * i, sizeof(bits));
    const std::uint32_t even = (bits[0] >> 16U) | (bits[2] & 0xFFFF0000U);
    const std::uint32_t odd = (bits[1] >> 16U) | (bits[3] & 0xFFFF0000U);
    fours[i] = even | std::uint64_t{odd} << 32U;
  }
  std::memcpy(record, fours, sizeof(fours));
}

void bf16_records(const float* x, std::int64_t n, float factor, std::uint8_t* records) {
  for (std::int64_t k = 0; k < n; k += kBlock, records += record_bytes(RowFormat::bf16)) {
    float scaled[kBlock];
    for (int i = 0; i < kBlock; ++i) scaled[i] = x[k + i] * factor;
    store_bf16(scaled, records);
  }
}

void codes_record(const float* x, float code_multiplier, float multiplier, RowFormat format, std::uint8_t* record) {
  if (format == RowFormat::bf16_tile) {
    float values[kBlock];
    for (int k = 0; k < kBlock; ++k) values[k] = static_cast<float>(doubled_e2m1(x[k] * code_multiplier)) * multiplier;
    return store_bf16(values, record);
  }
  auto* plane = reinterpret_cast<std::int8_t*>(record);
  for (int k = 0; k < kBlock; ++k) plane[k] = static_cast<std::int8_t>(doubled_e2m1(x[k] * code_multiplier));
  finish_record(record, format, multiplier);
}

void add_scaled(const float* c, const float* factors, int count, int n, float* const* out) {
  for (int r = 0; r < count; ++r, c += kStripRows) {
    const float factor = factors[r];
    float* to = out[r];
    if (n == kStripRows) {
      // A constant count, and sums kept apart from their stores, let the compiler use whole vectors.
      float sums[kStripRows];
      for (int i = 0; i < kStripRows; ++i) sums[i] = to[i] + c[i] * factor;
      std::memcpy(to, sums, sizeof(sums));
    } else {
      for (int i = 0; i < n; ++i) to[i] += c[i] * factor;
    }
  }
}

constexpr RowKernels kRowKernels = {largest_bits, wide_record, codes_record, bf16_records, add_scaled, activate_block};

}  // namespace
}  // namespace tilewright::cpu
