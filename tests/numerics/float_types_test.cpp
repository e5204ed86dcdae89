#include "tilewright/float_types.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace tilewright {
namespace {

float next(float x, float toward) { return std::nextafter(x, toward); }

// The value of a finite binary16 pattern from its definition.
double fp16_value(std::uint32_t bits) {
  const int exponent = static_cast<int>((bits >> 10U) & 0x1FU);
  const double mantissa = bits & 0x3FFU;
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024.0 + mantissa, exponent - 25);
  return (bits & 0x8000U) != 0 ? -magnitude : magnitude;
}

TEST(Fp16, EveryFinitePatternHasItsValueAndReadsBack) {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    if ((bits & 0x7C00U) == 0x7C00U) continue;
    const fp16 x{static_cast<std::uint16_t>(bits)};
    ASSERT_EQ(static_cast<double>(to_float(x)), fp16_value(bits)) << bits;
    ASSERT_EQ(to_fp16(to_float(x)).bits, bits);
  }
}

TEST(Fp16, RoundsToNearestAndTiesToEvenBetweenAllNeighbours) {
  for (std::uint32_t low = 0; low < 0x7BFFU; ++low) {
    const std::uint32_t high = low + 1;
    const auto middle = static_cast<float>((fp16_value(low) + fp16_value(high)) / 2);  // exact: one bit more
    for (const std::uint32_t sign : {0U, 0x8000U}) {
      const float x = sign != 0 ? -middle : middle;
      const std::uint32_t even = low % 2 == 0 ? low : high;
      ASSERT_EQ(to_fp16(x).bits, sign | even);
      ASSERT_EQ(to_fp16(next(x, 0.0F)).bits, sign | low);
      ASSERT_EQ(to_fp16(next(x, 2 * x)).bits, sign | high);
    }
  }
}

TEST(Fp16, OverflowsToInfinityFromTheMiddleOfTheStepAboveTheLargestValue) {
  EXPECT_EQ(to_fp16(next(65520.0F, 0.0F)).bits, 0x7BFF);
  EXPECT_EQ(to_fp16(65520.0F).bits, 0x7C00);
  EXPECT_EQ(to_fp16(-1e30F).bits, 0xFC00);
  EXPECT_EQ(to_fp16(std::numeric_limits<float>::infinity()).bits, 0x7C00);
  EXPECT_EQ(to_float(fp16{0xFC00}), -std::numeric_limits<float>::infinity());
}

TEST(Fp16, KeepsNanAQuietNanAndTheSignOfZero) {
  EXPECT_TRUE(std::isnan(to_float(fp16{0x7C01})));
  EXPECT_TRUE(std::isnan(to_float(to_fp16(std::bit_cast<float>(0x7F800001U)))));
  EXPECT_EQ(to_fp16(std::bit_cast<float>(0xFF800001U)).bits, 0xFE00);
  EXPECT_EQ(to_fp16(-0.0F).bits, 0x8000);
  EXPECT_TRUE(std::signbit(to_float(fp16{0x8000})));
}

TEST(Fp16, UnderflowsToASignedZeroAtHalfTheSmallestSubnormal) {
  EXPECT_EQ(to_fp16(-0x1p-25F).bits, 0x8000);
  EXPECT_EQ(to_fp16(next(0x1p-25F, 1.0F)).bits, 0x0001);
  EXPECT_EQ(to_fp16(std::numeric_limits<float>::denorm_min()).bits, 0x0000);
}

TEST(Bf16, EveryPatternThatIsNotNanReadsBack) {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const bf16 x{static_cast<std::uint16_t>(bits)};
    if (std::isnan(to_float(x))) {
      ASSERT_TRUE(std::isnan(round_to_bf16(to_float(x))));
    } else {
      ASSERT_EQ(to_bf16(to_float(x)).bits, bits);
    }
  }
}

TEST(Bf16, RoundsToNearestAndTiesToEven) {
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x3F808000U)).bits, 0x3F80);  // tie, 0x3F80 is even
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x3F818000U)).bits, 0x3F82);  // tie, 0x3F82 is even
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x3F808001U)).bits, 0x3F81);
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x3F817FFFU)).bits, 0x3F81);
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()).bits, 0x7F80);
}

}  // namespace
}  // namespace tilewright
