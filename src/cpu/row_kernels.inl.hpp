// RowKernels for the translation units of the instruction sets. Internal linkage on purpose: the copies must never be
// merged.
#pragma once

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

/// Sets plane p of a record, and returns the sum of its values.
inline std::int32_t set_plane(std::uint8_t* record, int p, const std::int32_t* values) {
  std::int8_t plane[kBlock];
  std::int32_t sum = 0;
  for (int k = 0; k < kBlock; ++k) sum += values[k];
  for (int k = 0; k < kBlock; ++k) plane[k] = static_cast<std::int8_t>(values[k]);
  std::memcpy(record + p * kBlock, plane, sizeof(plane));
  return sum;
}

/// Fills in the corrections and multipliers of a record whose planes have these sums.
inline void finish_record(std::uint8_t* record, RowFormat format, float multiplier, const std::int32_t* sums) {
  const int planes = planes_of(format);
  std::int32_t correction = 0;  // of all planes as one number
  for (int p = 0; p < planes; ++p) {
    correction = correction * 256 - kWeightOffset * sums[p];
    if (is_pair16(format)) {
      const auto m = static_cast<std::int32_t>(multiplier) * (planes == 2 && p == 0 ? 256 : 1);
      store(record + multiplier_offset(planes, p), pair_of(m));
    } else {
      store(record + multiplier_offset(planes, p), multiplier);
      store(record + correction_offset(planes, p), -kWeightOffset * sums[p]);
    }
  }
  if (is_pair16(format)) {
    store(record + correction_offset(planes, 0), static_cast<float>(correction) * multiplier);
  }
}

void wide_record(const float* x, float inverse_unit, float multiplier, RowFormat format, std::uint8_t* record) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to nearest, the integer in the low bits
  std::int32_t high[kBlock];
  std::int32_t low[kBlock];
  for (int k = 0; k < kBlock; ++k) {
    const std::int32_t q = std::bit_cast<std::int32_t>(x[k] * inverse_unit + kRound) - 0x4B400000;
    high[k] = (q + 128) >> 8;
    low[k] = q - high[k] * 256;
  }
  const std::int32_t sums[2] = {set_plane(record, 0, high), set_plane(record, 1, low)};
  finish_record(record, format, multiplier, sums);
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

/// Values that the loops below hold at a time.
constexpr int kChunk = 16 * kBlock;

/// The upper halves of n fp32 values, whole fours and at most kChunk, as bf16 records: the pairs (0, 2), (1, 3), (4,
/// 6), (5, 7) and so on, the order in which the kernels decode weights.
inline void store_bf16(const float* x, int n, std::uint8_t* records) {
  constexpr std::uint64_t kLower = 0x0000FFFF0000FFFFULL;
  std::uint64_t pairs[kChunk / 2];
  std::uint64_t fours[kChunk / 4];
  std::memcpy(pairs, x, static_cast<std::size_t>(n) * sizeof(float));
  for (int i = 0; i < n / 4; ++i) fours[i] = ((pairs[2 * i] >> 16U) & kLower) | (pairs[2 * i + 1] & ~kLower);
  std::memcpy(records, fours, static_cast<std::size_t>(n) * 2);
}

void bf16_records(const float* x, std::int64_t n, float factor, std::uint8_t* records) {
  float scaled[kChunk];
  for (std::int64_t k = 0; k < n; k += kChunk) {
    const int count = n - k < kChunk ? static_cast<int>(n - k) : kChunk;
    for (int i = 0; i < count; ++i) scaled[i] = x[k + i] * factor;
    store_bf16(scaled, count, records + 2 * k);
  }
}

void codes_record(const float* x, float code_multiplier, float multiplier, RowFormat format, std::uint8_t* record) {
  std::int32_t codes[kBlock];
  for (int k = 0; k < kBlock; ++k) codes[k] = doubled_e2m1(x[k] * code_multiplier);
  if (format == RowFormat::bf16_tile) {
    float values[kBlock];
    for (int k = 0; k < kBlock; ++k) values[k] = static_cast<float>(codes[k]) * multiplier;
    return store_bf16(values, kBlock, record);
  }
  const std::int32_t sum = set_plane(record, 0, codes);
  finish_record(record, format, multiplier, &sum);
}

void widen(const bf16* x, std::int64_t n, float* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = std::bit_cast<float>(static_cast<std::uint32_t>(x[i].bits) << 16U);
}

/// to[i] = from[i] * factor. The products are kept apart from their stores, and the count is constant, so that the
/// compiler uses whole vectors.
template <int kCount>
inline void scale_into(const float* from, float factor, float* to) {
  float products[kCount];
  for (int i = 0; i < kCount; ++i) products[i] = from[i] * factor;
  std::memcpy(to, products, sizeof(products));
}

void split_strips(const float* c, std::int64_t stride, int strips, bool gated, const float* gate_factors,
                  const float* up_factors, int count, float* gate, float* up) {
  for (int r = 0; r < count; ++r, c += kStripRows) {
    const float* from = c;
    for (int s = 0; s < strips; ++s, from += stride) {
      if (gated) {
        scale_into<kHalfStrip>(from, gate_factors[r], gate);
        scale_into<kHalfStrip>(from + kHalfStrip, up_factors[r], up);
        gate += kHalfStrip;
        up += kHalfStrip;
      } else {
        scale_into<kStripRows>(from, up_factors[r], up);
        up += kStripRows;
      }
    }
  }
}

/// to_bf16 of float_types.hpp, which must not be compiled for one instruction set and called from another.
inline std::uint16_t bf16_bits(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t nearest = (bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U;
  const std::uint32_t nan = (bits >> 16U) | 0x40U;
  return static_cast<std::uint16_t>((bits & 0x7FFFFFFFU) > 0x7F800000U ? nan : nearest);
}

void round_rows(const float* x, int count, int width, int n, bf16* out, std::int64_t stride) {
  for (int r = 0; r < count; ++r, x += width, out += stride) {
    for (int i = 0; i < n; ++i) out[i].bits = bf16_bits(x[i]);
  }
}

void add_strips(const float* c, std::int64_t stride, int strips, int last, const float* factors, int count,
                float* const* out) {
  for (int r = 0; r < count; ++r, c += kStripRows) {
    const float factor = factors[r];
    const float* from = c;
    float* to = out[r];
    for (int s = 0; s < strips; ++s, from += stride, to += kStripRows) {
      if (s + 1 < strips || last == kStripRows) {
        float sums[kStripRows];
        for (int i = 0; i < kStripRows; ++i) sums[i] = to[i] + from[i] * factor;
        std::memcpy(to, sums, sizeof(sums));
      } else {
        for (int i = 0; i < last; ++i) to[i] += from[i] * factor;
      }
    }
  }
}

constexpr RowKernels kRowKernels = {largest_bits, wide_record,    codes_record, bf16_records, widen,
                                    split_strips, activate_block, round_rows,   add_strips};

}  // namespace
}  // namespace tilewright::cpu
