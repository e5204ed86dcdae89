#include "cpu/dot_rows.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "cpu/tile_layout.hpp"

namespace tilewright::cpu {
namespace {

// Two planes span 256 * 127 + 127.
constexpr float kWideMax = 32639.0F;
// pair16 stores 256 * m as int16, so m is at most 2^6.
constexpr int kWideWindow = 6;
constexpr int kMultiplierMax = 32767;
// ue4m3 values are integers in units of 2^-9.
constexpr float kScaleUnit = 0x1p-9F;

/// Sums of a plane's elements with k % 4 < 2, and of the rest.
struct PairSums {
  std::int32_t low = 0;
  std::int32_t high = 0;
};

PairSums pair_sums(const std::int8_t* plane) {
  PairSums sums;
  for (int step = 0; step < kBlock; step += 4) {
    sums.low += plane[step] + plane[step + 1];
    sums.high += plane[step + 2] + plane[step + 3];
  }
  return sums;
}

constexpr std::array<std::int32_t, 256> scale_integers() {
  std::array<std::int32_t, 256> integers{};
  for (std::int32_t byte = 0; byte < 127; ++byte) {
    const std::int32_t exponent = byte >> 3;
    integers[static_cast<std::size_t>(byte)] = exponent == 0 ? byte & 7 : (8 + (byte & 7)) << (exponent - 1);
  }
  return integers;
}

/// ue4m3 values in units of 2^-9; what is not a value counts as 0 (the quantizer never writes it).
constexpr std::array<std::int32_t, 256> kScaleIntegers = scale_integers();

std::uint32_t pair_word(std::int32_t low, std::int32_t high) {
  return static_cast<std::uint16_t>(low) | (static_cast<std::uint32_t>(static_cast<std::uint16_t>(high)) << 16U);
}

void store_word(std::uint8_t* p, std::uint32_t word) { std::memcpy(p, &word, sizeof(word)); }

/// Fills in the corrections and multipliers of a record whose planes are set.
void finish_record(std::uint8_t* record, RowFormat format, float multiplier) {
  const int planes = planes_of(format);
  for (int p = 0; p < planes; ++p) {
    const auto* plane = reinterpret_cast<const std::int8_t*>(record) + p * kBlock;
    std::uint8_t* correction = record + planes * kBlock + p * 4;
    std::uint8_t* factor = record + planes * (kBlock + 4) + p * 4;
    const PairSums sums = pair_sums(plane);
    if (format == RowFormat::codes_pair16 || format == RowFormat::wide_pair16) {
      store_word(correction, pair_word(-kWeightOffset * sums.low, -kWeightOffset * sums.high));
      const auto m = static_cast<std::int32_t>(multiplier) * (planes == 2 && p == 0 ? 256 : 1);
      store_word(factor, pair_word(m, m));
    } else {
      store_word(correction, static_cast<std::uint32_t>(-kWeightOffset * (sums.low + sums.high)));
      store_word(factor, std::bit_cast<std::uint32_t>(multiplier));
    }
  }
}

constexpr std::int32_t kInfinityBits = 0x7F800000;

/// The bits of the largest magnitude. As integers, so that the loop vectorises and a NaN counts as the largest.
std::int32_t max_magnitude_bits(const float* x, std::int64_t n) {
  std::int32_t largest = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int32_t bits = std::bit_cast<std::int32_t>(x[k]) & 0x7FFFFFFF;
    largest = bits > largest ? bits : largest;
  }
  return largest;
}

/// The smallest power of two u with magnitude <= kWideMax * u; at least 2^-126, so that its reciprocal is finite.
float power_unit(float magnitude) {
  int exponent = 0;
  std::frexp(magnitude / kWideMax, &exponent);  // magnitude / kWideMax <= 2^exponent
  return std::ldexp(1.0F, std::max(exponent, -126));
}

void set_wide_block(const float* x, float inverse_unit, std::uint8_t* record) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to nearest, the integer in the low bits
  auto* planes = reinterpret_cast<std::int8_t*>(record);
  for (int k = 0; k < kBlock; ++k) {
    const std::int32_t q = std::bit_cast<std::int32_t>(x[k] * inverse_unit + kRound) - 0x4B400000;
    const std::int32_t high = (q + 128) >> 8;
    planes[k] = static_cast<std::int8_t>(high);
    planes[kBlock + k] = static_cast<std::int8_t>(q - high * 256);
  }
}

void set_code_block(const std::uint8_t* codes, std::uint8_t* record) {
  auto* plane = reinterpret_cast<std::int8_t*>(record);
  for (int k = 0; k < kBlock; ++k) {
    const int code = (codes[k / 2] >> (4 * (k % 2))) & 0xF;
    plane[k] = static_cast<std::int8_t>(kWeightTable[code] - kWeightOffset);
  }
}

}  // namespace

bool all_finite(std::span<const float> x) {
  return max_magnitude_bits(x.data(), static_cast<std::int64_t>(x.size())) < kInfinityBits;
}

void DotRows::reset(std::int64_t rows, std::int64_t k, RowFormat format) {
  rows_ = rows;
  groups_ = static_cast<int>(groups_of(k));
  format_ = format;
  row_bytes_ = static_cast<std::size_t>(groups_) * kGroupBlocks * record_bytes(format);
  const auto count = static_cast<std::size_t>(rows);
  if (records_.size() < count * row_bytes_) records_.resize(count * row_bytes_);
  units_.resize(count);
  tails_.resize(count);
  tail_units_.resize(count);
}

bool DotRows::set_wide(std::int64_t row, std::span<const float> x) {
  std::uint8_t* record = records_.data() + row * row_bytes_;
  tails_[row].clear();
  const std::int32_t largest = max_magnitude_bits(x.data(), static_cast<std::int64_t>(x.size()));
  if (largest >= kInfinityBits) return false;
  if (format_ == RowFormat::bf16) {
    units_[row] = 1.0F;
    std::memset(record, 0, row_bytes_);
    for (std::size_t k = 0; k < x.size(); ++k) {
      const bf16 value = to_bf16(x[k]);
      std::memcpy(record + 2 * k, &value, sizeof(value));
    }
    return true;
  }
  const float top = largest == 0 ? 1.0F : power_unit(std::bit_cast<float>(largest));
  const float base = std::max(std::ldexp(top, -kWideWindow), 0x1p-126F);
  units_[row] = base;
  const auto blocks = static_cast<std::int64_t>(x.size()) / kBlock;
  const std::int64_t padded = static_cast<std::int64_t>(groups_) * kGroupBlocks;
  for (std::int64_t b = 0; b < padded; ++b, record += record_bytes(format_)) {
    if (b >= blocks) {
      std::memset(record, 0, record_bytes(format_));
      continue;
    }
    const float* block = x.data() + b * kBlock;
    const float magnitude = std::bit_cast<float>(max_magnitude_bits(block, kBlock));
    const float unit = magnitude <= kWideMax * base ? base : power_unit(magnitude);
    set_wide_block(block, 1.0F / unit, record);
    finish_record(record, format_, unit / base);
  }
  return true;
}

void DotRows::set_nvfp4(std::int64_t row, std::span<const std::uint8_t> codes, std::span<const std::uint8_t> scales,
                        float global_scale) {
  std::uint8_t* record = records_.data() + row * row_bytes_;
  tails_[row].clear();
  std::int32_t largest = 0;
  for (const std::uint8_t scale : scales) largest = std::max(largest, kScaleIntegers[scale]);
  int shift = 0;
  while (format_ == RowFormat::codes_pair16 && (largest >> shift) > kMultiplierMax) ++shift;
  // One step of a doubled code is half an e2m1 unit.
  units_[row] = std::ldexp(global_scale * kScaleUnit * 0.5F, shift);
  tail_units_[row] = global_scale * kScaleUnit * 0.5F;
  const std::size_t padded = static_cast<std::size_t>(groups_) * kGroupBlocks;
  for (std::size_t b = 0; b < padded; ++b, record += record_bytes(format_)) {
    if (b >= scales.size()) {
      std::memset(record, 0, record_bytes(format_));
      continue;
    }
    set_code_block(codes.data() + b * (kBlock / 2), record);
    const std::int32_t scale = kScaleIntegers[scales[b]];
    if (scale == (scale >> shift) << shift) {
      finish_record(record, format_, static_cast<float>(scale >> shift));
      continue;
    }
    if (tails_[row].empty()) tails_[row].assign(row_bytes_, 0);
    std::uint8_t* tail = tails_[row].data() + b * record_bytes(format_);
    std::memcpy(tail, record, kBlock);
    std::memset(record, 0, record_bytes(format_));
    finish_record(tail, format_, static_cast<float>(scale));
  }
}

}  // namespace tilewright::cpu
