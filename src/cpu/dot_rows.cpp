#include "cpu/dot_rows.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "cpu/row_kernels.hpp"
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

constexpr std::int32_t kInfinityBits = 0x7F800000;

/// The smallest power of two u with magnitude <= kWideMax * u; at least 2^-126, so that its reciprocal is finite.
float power_unit(float magnitude) {
  int exponent = 0;
  std::frexp(magnitude / kWideMax, &exponent);  // magnitude / kWideMax <= 2^exponent
  return std::ldexp(1.0F, std::max(exponent, -126));
}

/// The power of two that brings `largest` (the bits of a magnitude) into [2^120, 2^121), at most 2^126; 1 for zero.
float tile_factor(std::int32_t largest) {
  constexpr int kLargest = 120;
  constexpr int kMost = 126;
  const int exponent = (largest >> 23) - 127;
  return largest == 0 ? 1.0F : std::ldexp(1.0F, std::min(kLargest - exponent, kMost));
}

}  // namespace

void DotRows::reset(std::int64_t rows, std::int64_t k, RowFormat format, const RowKernels& kernels) {
  kernels_ = &kernels;
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

std::uint8_t* DotRows::record(std::int64_t row, std::int64_t block) {
  return records_.data() + row * static_cast<std::int64_t>(row_bytes_) + block * record_bytes(format_);
}

/// Zero records from `block` to the row's padded end.
void DotRows::pad(std::int64_t row, std::int64_t block) {
  std::uint8_t* from = record(row, block);
  std::memset(from, 0, static_cast<std::size_t>(record(row + 1, 0) - from));
}

bool DotRows::set_wide(std::int64_t row, std::span<const float> x) {
  tails_[row].clear();
  const auto k = static_cast<std::int64_t>(x.size());
  const std::int32_t largest = kernels_->largest_bits(x.data(), k);
  if (largest >= kInfinityBits) return false;
  pad(row, k / kBlock);
  if (is_bf16(format_)) {
    const float factor = format_ == RowFormat::bf16_tile ? tile_factor(largest) : 1.0F;
    units_[row] = 1.0F / factor;
    kernels_->bf16_records(x.data(), k, factor, record(row, 0));
    return true;
  }
  const float top = largest == 0 ? 1.0F : power_unit(std::bit_cast<float>(largest));
  const float base = std::max(std::ldexp(top, -kWideWindow), 0x1p-126F);
  units_[row] = base;
  for (std::int64_t b = 0; b < k / kBlock; ++b) {
    const float* block = x.data() + b * kBlock;
    const float magnitude = std::bit_cast<float>(kernels_->largest_bits(block, kBlock));
    const float unit = magnitude <= kWideMax * base ? base : power_unit(magnitude);
    kernels_->wide_record(block, 1.0F / unit, unit / base, format_, record(row, b));
  }
  return true;
}

bool DotRows::set_nvfp4(std::int64_t row, std::span<const float> x, float global_scale) {
  tails_[row].clear();
  const auto blocks = static_cast<std::int64_t>(x.size()) / kBlock;
  const float quant_multiplier = 1.0F / global_scale;
  std::vector<BlockScale> scales(static_cast<std::size_t>(blocks));
  std::int32_t largest = 0;
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::int32_t bits = kernels_->largest_bits(x.data() + b * kBlock, kBlock);
    if (bits >= kInfinityBits) return false;
    scales[b] = block_scale(std::bit_cast<float>(bits), quant_multiplier);
    largest = std::max(largest, kScaleIntegers[scales[b].scale]);
  }
  int shift = 0;
  while (format_ == RowFormat::codes_pair16 && (largest >> shift) > kMultiplierMax) ++shift;
  // One step of a doubled code is half an e2m1 unit.
  tail_units_[row] = global_scale * kScaleUnit * 0.5F;
  units_[row] = std::ldexp(tail_units_[row], shift);
  for (std::int64_t b = 0; b < blocks; ++b) {
    const float* block = x.data() + b * kBlock;
    const std::int32_t scale = kScaleIntegers[scales[b].scale];
    if (scale == (scale >> shift) << shift) {
      const auto multiplier = static_cast<float>(scale >> shift);
      kernels_->codes_record(block, scales[b].code_multiplier, multiplier, format_, record(row, b));
      continue;
    }
    if (tails_[row].empty()) tails_[row].assign(row_bytes_, 0);
    std::memset(record(row, b), 0, record_bytes(format_));
    kernels_->codes_record(block, scales[b].code_multiplier, static_cast<float>(scale), format_,
                           tails_[row].data() + b * record_bytes(format_));
  }
  pad(row, blocks);
  return true;
}

}  // namespace tilewright::cpu
