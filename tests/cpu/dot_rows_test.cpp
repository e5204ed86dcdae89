#include "cpu/dot_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "cpu/kernels.hpp"
#include "cpu/row_values.hpp"

namespace tilewright::cpu {
namespace {

constexpr RowFormat kWideFormats[] = {RowFormat::wide_pair16, RowFormat::wide_sum32, RowFormat::bf16,
                                      RowFormat::bf16_tile};
constexpr RowFormat kCodeFormats[] = {RowFormat::codes_pair16, RowFormat::codes_sum32, RowFormat::bf16_tile};

/// bf16 values whose magnitudes span `binades` binades below `largest`.
std::vector<float> spread_row(int k, float largest, int binades, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> x;
  for (int i = 0; i < k; ++i) {
    const float mantissa = 1.0F + static_cast<float>(random() % 128) / 128.0F;
    const float value = std::ldexp(largest / 2.0F * mantissa, -static_cast<int>(random() % binades));
    x.push_back(round_to_bf16(random() % 2 == 0 ? value : -value));
  }
  return x;
}

float block_maximum(const std::vector<float>& x, std::size_t k) {
  const std::size_t first = k / kBlock * kBlock;
  float largest = 0.0F;
  for (std::size_t i = first; i < first + kBlock; ++i) largest = std::max(largest, std::fabs(x[i]));
  return largest;
}

void expect_within_contract(const std::vector<float>& x, RowFormat format) {
  DotRows rows;
  rows.reset(1, static_cast<std::int64_t>(x.size()), format, kernels(best_tier()).rows);
  ASSERT_TRUE(rows.set_wide(0, x));
  const std::vector<double> held = row_values(rows, 0);
  const float row_maximum =
      *std::max_element(x.begin(), x.end(), [](float a, float b) { return std::fabs(a) < std::fabs(b); });
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double maximum = block_maximum(x, k);
    const double error = std::fabs(held[k] - x[k]);
    // Half a step: a block's step is at most 2^-14 of its maximum, and never below 2^-6 of the row's largest step.
    const double step = std::max(maximum * 0x1p-14, std::fabs(row_maximum) * 0x1p-20);
    EXPECT_LE(error, is_bf16(format) ? 0.0 : step / 2) << "k " << k;
    if (std::fabs(x[k]) >= maximum * 0x1p-6) {
      EXPECT_EQ(error, 0.0) << "a value near its block's maximum, k " << k;
    }
  }
  for (std::size_t k = x.size(); k < held.size(); ++k) EXPECT_EQ(held[k], 0.0) << "padding, k " << k;
}

TEST(DotRows, HoldsWideValuesWithinTheirBlocksFixedPoint) {
  for (const RowFormat format : kWideFormats) {
    for (const int binades : {1, 6, 20}) expect_within_contract(spread_row(176, 3.5F, binades, 7), format);
  }
}

TEST(DotRows, HoldsWideRowsOfAnyMagnitude) {
  for (const RowFormat format : kWideFormats) {
    for (const float largest : {0x1p-100F, 1e-20F, 1.0F, 1e20F, 0x1p126F}) {
      expect_within_contract(spread_row(64, largest, 4, 11), format);
    }
    expect_within_contract(std::vector<float>(80, 0.0F), format);
  }
}

TEST(DotRows, AnOutlierDoesNotTakeTheBitsOfOtherBlocks) {
  std::vector<float> x(64, 0.0078125F);
  x[3] = 1000.0F;
  DotRows rows;
  rows.reset(1, 64, RowFormat::wide_pair16, kernels(best_tier()).rows);
  ASSERT_TRUE(rows.set_wide(0, x));
  // 1000 needs a step of 2^-5; blocks without it get 2^-6 of that, and 2^-7 is 16 such steps.
  for (std::size_t k = 16; k < 64; ++k) EXPECT_EQ(row_values(rows, 0)[k], x[k]);
}

TEST(DotRows, RefusesValuesThatAreNotFinite) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> x(32, 1.0F);
    x[17] = -bad;
    for (const RowFormat format : kWideFormats) {
      DotRows rows;
      rows.reset(1, 32, format, kernels(best_tier()).rows);
      EXPECT_FALSE(rows.set_wide(0, x));
    }
    for (const RowFormat format : kCodeFormats) {
      DotRows rows;
      rows.reset(1, 32, format, kernels(best_tier()).rows);
      EXPECT_FALSE(rows.set_nvfp4(0, x, 1.0F));
    }
  }
}

/// A row whose blocks quantize to the given scales under a global scale of 1: each holds its scale times e2m1 values, 6
/// among them.
std::vector<float> row_with_scales(const std::vector<std::uint8_t>& scales) {
  std::mt19937 random(3);
  std::vector<float> x;
  for (const std::uint8_t scale : scales) {
    for (int k = 0; k < kBlock; ++k) {
      const float value = k == 5 ? -6.0F : kE2m1Values[random() % 16];
      x.push_back(value * decode_ue4m3(scale));
    }
  }
  return x;
}

void expect_exact(const std::vector<std::uint8_t>& scales, RowFormat format, IsaTier tier, bool expect_tail) {
  const std::vector<float> x = row_with_scales(scales);
  DotRows rows;
  rows.reset(1, static_cast<std::int64_t>(x.size()), format, kernels(tier).rows);
  ASSERT_TRUE(rows.set_nvfp4(0, x, 1.0F));
  EXPECT_EQ(rows.tail(0) != nullptr, expect_tail);
  const std::vector<double> held = row_values(rows, 0);
  for (std::size_t k = 0; k < x.size(); ++k) EXPECT_EQ(held[k], x[k]) << "k " << k;
  for (std::size_t k = x.size(); k < held.size(); ++k) EXPECT_EQ(held[k], 0.0) << "padding, k " << k;
}

TEST(DotRows, HoldsNvfp4RowsExactlyUnderEveryScale) {
  std::vector<std::uint8_t> all;
  for (int byte = 0; byte < 0x7F; ++byte) all.push_back(static_cast<std::uint8_t>(byte));
  for (const IsaTier tier : available_tiers()) {
    // 448 beside 2^-9 spans more than the 15 bits of a pair16 multiplier: the small blocks go to the tail.
    expect_exact(all, RowFormat::codes_pair16, tier, true);
    expect_exact(all, RowFormat::codes_sum32, tier, false);
    expect_exact(all, RowFormat::bf16_tile, tier, false);
  }
}

TEST(DotRows, NeedsNoTailForTheScalesThatRowsUsuallyHave) {
  for (const RowFormat format : kCodeFormats) {
    expect_exact({0x7E, 0x70, 0x60, 0x50, 0x40, 0x00}, format, best_tier(), false);  // 448 down to 2, and a zero block
    expect_exact({0x01, 0x07, 0x30}, format, best_tier(), false);                    // subnormals beside 0.5
  }
}

TEST(DotRows, QuantizesByTheRecipeToTheBit) {
  std::mt19937 random(17);
  std::normal_distribution<float> normal(0.0F, 1.5F);
  std::vector<float> x;
  for (int k = 0; k < 64 * kBlock; ++k) {
    // Every third value is a tie between two codes of some power of two.
    x.push_back(k % 3 == 0 ? std::ldexp(5.0F, static_cast<int>(random() % 6) - 4) : round_to_bf16(normal(random)));
  }
  constexpr float kScale = 12.5F / 2688.0F;
  std::vector<std::uint8_t> codes(x.size() / 2);
  std::vector<std::uint8_t> scales(x.size() / kBlock);
  quantize_row(x, 1.0F / kScale, codes, scales);
  for (const IsaTier tier : available_tiers()) {
    DotRows rows;
    rows.reset(1, static_cast<std::int64_t>(x.size()), RowFormat::codes_sum32, kernels(tier).rows);
    ASSERT_TRUE(rows.set_nvfp4(0, x, kScale));
    const std::vector<double> held = row_values(rows, 0);
    for (std::size_t k = 0; k < x.size(); ++k) {
      const unsigned code = codes[k / 2] >> (4 * (k % 2)) & 15U;
      const float exact = kE2m1Values[code] * decode_ue4m3(scales[k / kBlock]);
      EXPECT_EQ(held[k], static_cast<double>(kScale) * exact) << to_string(tier) << " k " << k;
    }
  }
}

TEST(DotRows, ReusesARowWithoutKeepingItsTail) {
  DotRows rows;
  rows.reset(1, 32, RowFormat::codes_pair16, kernels(best_tier()).rows);
  ASSERT_TRUE(rows.set_nvfp4(0, row_with_scales({0x7E, 0x01}), 1.0F));
  ASSERT_NE(rows.tail(0), nullptr);
  ASSERT_TRUE(rows.set_nvfp4(0, row_with_scales({0x7E, 0x70}), 1.0F));
  EXPECT_EQ(rows.tail(0), nullptr);
}

}  // namespace
}  // namespace tilewright::cpu
