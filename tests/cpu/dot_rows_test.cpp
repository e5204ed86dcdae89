#include "cpu/dot_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "cpu/row_values.hpp"

namespace tilewright::cpu {
namespace {

constexpr RowFormat kWideFormats[] = {RowFormat::wide_pair16, RowFormat::wide_sum32, RowFormat::bf16};
constexpr RowFormat kCodeFormats[] = {RowFormat::codes_pair16, RowFormat::codes_sum32};

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
  rows.reset(1, static_cast<std::int64_t>(x.size()), format);
  ASSERT_TRUE(rows.set_wide(0, x));
  const std::vector<double> held = row_values(rows, 0);
  const float row_maximum =
      *std::max_element(x.begin(), x.end(), [](float a, float b) { return std::fabs(a) < std::fabs(b); });
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double maximum = block_maximum(x, k);
    const double error = std::fabs(held[k] - x[k]);
    // Half a step: a block's step is at most 2^-14 of its maximum, and never below 2^-6 of the row's largest step.
    const double step = std::max(maximum * 0x1p-14, std::fabs(row_maximum) * 0x1p-20);
    EXPECT_LE(error, format == RowFormat::bf16 ? 0.0 : step / 2) << "k " << k;
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
  rows.reset(1, 64, RowFormat::wide_pair16);
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
      rows.reset(1, 32, format);
      EXPECT_FALSE(rows.set_wide(0, x));
    }
    EXPECT_FALSE(all_finite(x));
  }
}

/// Random codes under the given scales, held exactly?
void expect_exact(const std::vector<std::uint8_t>& scales, RowFormat format, bool expect_tail) {
  std::mt19937 random(3);
  std::vector<std::uint8_t> codes(scales.size() * kBlock / 2);
  for (auto& byte : codes) byte = static_cast<std::uint8_t>(random());
  DotRows rows;
  rows.reset(1, static_cast<std::int64_t>(scales.size()) * kBlock, format);
  rows.set_nvfp4(0, codes, scales, 0.125F);
  EXPECT_EQ(rows.tail(0) != nullptr, expect_tail);
  const std::vector<double> held = row_values(rows, 0);
  for (std::size_t k = 0; k < scales.size() * kBlock; ++k) {
    const unsigned code = codes[k / 2] >> (4 * (k % 2)) & 15U;
    EXPECT_EQ(held[k], 0.125 * kE2m1Values[code] * decode_ue4m3(scales[k / kBlock])) << "k " << k;
  }
}

TEST(DotRows, HoldsNvfp4RowsExactlyUnderEveryScale) {
  std::vector<std::uint8_t> all;
  for (int byte = 0; byte < 0x7F; ++byte) all.push_back(static_cast<std::uint8_t>(byte));
  // 448 beside 2^-9 spans more than the 15 bits of a pair16 multiplier: the small blocks go to the tail.
  expect_exact(all, RowFormat::codes_pair16, true);
  expect_exact(all, RowFormat::codes_sum32, false);
}

TEST(DotRows, NeedsNoTailForTheScalesThatRowsUsuallyHave) {
  for (const RowFormat format : kCodeFormats) {
    expect_exact({0x7E, 0x70, 0x60, 0x50, 0x40, 0x00}, format, false);  // 448 down to 2, and a zero block
    expect_exact({0x01, 0x07, 0x30}, format, false);                    // subnormals beside 0.5
  }
}

TEST(DotRows, ReusesARowWithoutKeepingItsTail) {
  DotRows rows;
  rows.reset(1, 32, RowFormat::codes_pair16);
  const std::vector<std::uint8_t> codes(16, 0x11);
  rows.set_nvfp4(0, codes, std::vector<std::uint8_t>{0x7E, 0x01}, 1.0F);
  ASSERT_NE(rows.tail(0), nullptr);
  rows.set_nvfp4(0, codes, std::vector<std::uint8_t>{0x7E, 0x70}, 1.0F);
  EXPECT_EQ(rows.tail(0), nullptr);
}

}  // namespace
}  // namespace tilewright::cpu
