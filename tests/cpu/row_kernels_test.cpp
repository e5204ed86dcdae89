// The row kernels of every tier that are not tested through a row format: rounding, and adding up strips.
#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "cpu/kernels.hpp"

namespace tilewright::cpu {
namespace {

class RowKernelsOfTier : public testing::TestWithParam<IsaTier> {
 protected:
  static const RowKernels& rows() { return kernels(GetParam()).rows; }
};

TEST_P(RowKernelsOfTier, RoundEveryKindOfValueAsToBf16Does) {
  std::vector<float> values;
  for (std::uint32_t upper = 0; upper < 0x10000U; upper += 0x3U) {
    // Below, at and above a tie, with both parities of the last bit kept.
    for (const std::uint32_t lower : {0x0000U, 0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU}) {
      values.push_back(std::bit_cast<float>(upper << 16U | lower));
    }
  }
  for (const int n : {kHalfStrip, 5}) {  // a whole row, and the part of one at the end of I
    const int count = static_cast<int>(values.size()) / kHalfStrip;
    constexpr std::int64_t kStride = 11;
    const bf16 untouched{0x1234};
    std::vector<bf16> out(static_cast<std::size_t>(count * kStride), untouched);
    rows().round_rows(values.data(), count, kHalfStrip, n, out.data(), kStride);
    for (int r = 0; r < count; ++r) {
      for (int i = 0; i < kStride; ++i) {
        const bf16 expected = i < n ? to_bf16(values[r * kHalfStrip + i]) : untouched;
        ASSERT_EQ(out[r * kStride + i].bits, expected.bits) << n << " of a row, row " << r << ", value " << i;
      }
    }
  }
}

TEST_P(RowKernelsOfTier, AddStripsToTheColumnsThatExist) {
  constexpr int kStrips = 3;
  constexpr int kLast = 7;
  constexpr int kRows = 2;
  constexpr std::int64_t kStride = 5 * kStripRows;  // strips further apart than their rows
  std::vector<float> c(kStrips * kStride);
  for (std::size_t i = 0; i < c.size(); ++i) c[i] = static_cast<float>(i);
  const float factors[kRows] = {2.0F, -0.5F};
  std::vector<float> sums(kRows * kStrips * kStripRows, 1.0F);
  float* const out[kRows] = {sums.data(), sums.data() + kStrips * kStripRows};
  rows().add_strips(c.data(), kStride, kStrips, kLast, factors, kRows, out);
  for (int r = 0; r < kRows; ++r) {
    for (int n = 0; n < kStrips * kStripRows; ++n) {
      const int s = n / kStripRows;
      const bool exists = s + 1 < kStrips || n % kStripRows < kLast;
      const float product = c[s * kStride + r * kStripRows + n % kStripRows] * factors[r];
      EXPECT_EQ(out[r][n], exists ? 1.0F + product : 1.0F) << r << ", " << n;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryTierThatRunsHere, RowKernelsOfTier, testing::ValuesIn(available_tiers()),
                         [](const auto& tier) { return std::string(to_string(tier.param)); });

}  // namespace
}  // namespace tilewright::cpu
