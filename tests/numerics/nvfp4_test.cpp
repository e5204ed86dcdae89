#include "tilewright/nvfp4.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilewright {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

float next(float x, float toward) { return std::nextafter(x, toward); }

using Block = std::array<float, kBlock>;

Block filled(float value) {
  Block x;
  x.fill(value);
  return x;
}

float code_value(const Nvfp4Block& block, std::size_t i) {
  const unsigned byte = block.codes[i / 2];
  return kE2m1Values[i % 2 == 0 ? byte & 0xFU : byte >> 4U];
}

// Sixteen values of any sign over many binades.
Block arbitrary_block() {
  Block x;
  for (float& value : x) {
    const int mantissa = *rc::gen::inRange(-4096, 4097);
    value = std::ldexp(static_cast<float>(mantissa), *rc::gen::inRange(-24, 0));
  }
  return x;
}

float arbitrary_multiplier() {
  return std::ldexp(1.0F + static_cast<float>(*rc::gen::inRange(0, 1024)) / 1024.0F, *rc::gen::inRange(-3, 12));
}

// A multiplier under which the scale of x is a normal ue4m3 below 448: its target lies in [2^-5, 256).
float multiplier_of_a_normal_scale(const Block& x) {
  float largest = 0.0F;
  for (const float value : x) largest = std::fmax(largest, std::fabs(value));
  const float target =
      std::ldexp(1.0F + static_cast<float>(*rc::gen::inRange(0, 1024)) / 1024.0F, *rc::gen::inRange(-5, 8));
  return target * kE2m1Max / largest;
}

TEST(E2m1, RoundsToTheNearestValueAndTiesToTheEvenCode) {
  for (std::uint8_t low = 0; low < 7; ++low) {
    const auto high = static_cast<std::uint8_t>(low + 1);
    const float middle = (kE2m1Values[low] + kE2m1Values[high]) / 2;
    const std::uint8_t even = low % 2 == 0 ? low : high;
    for (const int sign : {0, 8}) {
      const float x = sign != 0 ? -middle : middle;
      EXPECT_EQ(encode_e2m1(x), sign | even);
      EXPECT_EQ(encode_e2m1(next(x, 0.0F)), sign | low);
      EXPECT_EQ(encode_e2m1(next(x, 2 * x)), sign | high);
    }
  }
}

TEST(E2m1, EncodingADecodedCodeGivesTheCodeBack) {
  for (std::uint8_t code = 0; code < 16; ++code) EXPECT_EQ(encode_e2m1(kE2m1Values[code]), code);
}

TEST(E2m1, MapsNanToSixInfinityToItsSignAndKeepsTheSignOfAnUnderflow) {
  EXPECT_EQ(encode_e2m1(kNan), 7);
  EXPECT_EQ(encode_e2m1(-kNan), 7);
  EXPECT_EQ(encode_e2m1(-kInfinity), 15);
  EXPECT_EQ(encode_e2m1(-std::numeric_limits<float>::denorm_min()), 8);
}

TEST(Ue4m3, RoundsToTheNearestValueAndTiesToTheEvenByte) {
  for (std::uint8_t low = 0; low < 0x7E; ++low) {
    const auto high = static_cast<std::uint8_t>(low + 1);
    const float middle = (decode_ue4m3(low) + decode_ue4m3(high)) / 2;
    EXPECT_EQ(encode_ue4m3(middle), low % 2 == 0 ? low : high);
    EXPECT_EQ(encode_ue4m3(next(middle, 0.0F)), low);
    EXPECT_EQ(encode_ue4m3(next(middle, kInfinity)), high);
  }
}

TEST(Ue4m3, SaturatesAndMapsNegativeToZeroAndNanToNan) {
  EXPECT_EQ(encode_ue4m3(next(kUe4m3Max, kInfinity)), 0x7E);
  EXPECT_EQ(encode_ue4m3(kInfinity), 0x7E);
  EXPECT_EQ(encode_ue4m3(-1.0F), 0);
  EXPECT_EQ(encode_ue4m3(-0.0F), 0);
  EXPECT_EQ(encode_ue4m3(kNan), kUe4m3Nan);
}

TEST(GlobalScale, MapsAmaxToTheLargestValueOfEachSelection) {
  EXPECT_EQ(global_scale_for(2688.0F, ScaleSelection::amax), 1.0F);
  EXPECT_EQ(global_scale_for(1536.0F, ScaleSelection::four_over_six), 1.0F);
}

TEST(GlobalScale, HasAFiniteReciprocalForAnyAmax) {
  for (const float amax : {0.0F, std::numeric_limits<float>::denorm_min(), 1e-38F, 1.0F,
                           std::numeric_limits<float>::max(), kInfinity, kNan}) {
    const float scale = global_scale_for(amax, ScaleSelection::amax);
    EXPECT_GT(scale, 0.0F) << amax;
    EXPECT_TRUE(std::isfinite(scale) && std::isfinite(1.0F / scale)) << amax;
  }
}

TEST(QuantizeBlock, GivesANanTheCodeSevenAndKeepsItOutOfTheScale) {
  Block x = filled(1.0F);
  const Nvfp4Block clean = quantize_block(x, 1.0F);
  for (const std::size_t position : {0U, 1U, 15U}) {
    Block dirty = x;
    dirty[position] = kNan;
    const Nvfp4Block block = quantize_block(dirty, 1.0F);
    EXPECT_EQ(block.scale, clean.scale);
    EXPECT_EQ(code_value(block, position), 6.0F);
    EXPECT_EQ(code_value(block, 7), code_value(clean, 7));
  }
}

TEST(QuantizeBlock, MarksABlockOfNothingButNanWithANanScale) {
  EXPECT_EQ(quantize_block(filled(kNan), 1.0F).scale, kUe4m3Nan);
}

TEST(QuantizeBlock, KeepsTheSignOfZeroInAZeroBlock) {
  Block x = filled(0.0F);
  x[3] = -0.0F;
  const Nvfp4Block block = quantize_block(x, 2688.0F);
  EXPECT_EQ(block.scale, 0);
  EXPECT_EQ(block.codes[1], 0x80);
  EXPECT_EQ(block.codes[0], 0x00);
}

TEST(QuantizeBlock, StoresAnUnderflowedScaleAsZeroWithSaturatedCodes) {
  Block x = filled(0x1p-20F);
  x[1] = -0x1p-20F;
  const Nvfp4Block block = quantize_block(x, 1.0F);
  EXPECT_EQ(block.scale, 0);
  EXPECT_EQ(block.codes[0], 0xF7);
  Block values;
  dequantize_row(block.codes, {&block.scale, 1}, 1.0F, values);
  for (const float value : values) EXPECT_EQ(value, 0.0F);
}

TEST(QuantizeBlock, TurnsAnInfinityIntoTheLargestValueWithItsSign) {
  Block x = filled(1.0F);
  x[4] = -kInfinity;
  const Nvfp4Block block = quantize_block(x, 1.0F);
  EXPECT_EQ(block.scale, 0x7E);
  EXPECT_EQ(code_value(block, 4), -6.0F);
}

// The largest element comes out as code 6 whenever the scale is a normal ue4m3 (relative rounding at most 1/16, and
// 6 / (1 + 1/16) > 5), so a dequantized block has the same scale and every element lies on its code.
TEST(QuantizeBlock, QuantizingADequantizedBlockChangesNothing) {
  EXPECT_TRUE(rc::check([] {
    Block x = arbitrary_block();
    x[5] = 1.0F;  // not a zero block
    const float multiplier = multiplier_of_a_normal_scale(x);
    const Nvfp4Block once = quantize_block(x, multiplier);
    Block values;
    dequantize_row(once.codes, {&once.scale, 1}, 1.0F / multiplier, values);
    const Nvfp4Block twice = quantize_block(values, multiplier);
    RC_ASSERT(twice.scale == once.scale);
    RC_ASSERT(twice.codes == once.codes);
  }));
}

// Half the widest step of e2m1 (4 to 6) is 1. Clipping costs less: the scale is rounded by at most 1/16 of itself, so
// that no element passes 6 * 17/16 scales.
TEST(QuantizeBlock, ErrsByAtMostOneBlockScale) {
  EXPECT_TRUE(rc::check([] {
    Block x = arbitrary_block();
    x[5] = 1.0F;  // not a zero block
    const float multiplier = multiplier_of_a_normal_scale(x);
    const Nvfp4Block block = quantize_block(x, multiplier);
    Block values;
    dequantize_row(block.codes, {&block.scale, 1}, 1.0F / multiplier, values);
    const double scale = static_cast<double>(decode_ue4m3(block.scale)) / static_cast<double>(multiplier);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double error = std::fabs(static_cast<double>(values[i]) - static_cast<double>(x[i]));
      RC_ASSERT(error <= scale * (1.0 + 1e-6));  // 1e-6 covers the roundings of fp32
    }
  }));
}

TEST(FourOverSix, IsNeverWorseThanAmaxUnderTheSameGlobalScale) {
  EXPECT_TRUE(rc::check([] {
    const Block x = arbitrary_block();
    const float multiplier = arbitrary_multiplier();
    const Nvfp4Block six = quantize_block(x, multiplier, ScaleSelection::amax);
    const Nvfp4Block picked = quantize_block(x, multiplier, ScaleSelection::four_over_six);
    const float error_six = squared_error(x, six, 1.0F / multiplier);
    const float error_picked = squared_error(x, picked, 1.0F / multiplier);
    RC_ASSERT(error_picked <= error_six);
    if (error_picked == error_six) RC_ASSERT(picked.scale == six.scale);
  }));
}

TEST(FourOverSix, TakesTheScaleOfFourForABlockThatItStoresExactly) {
  Block x = filled(3.0F);
  x[0] = 4.0F;  // under amax -> 6 the scale is 2/3: 3 falls between 4 * 2/3 and 6 * 2/3
  const Nvfp4Block block = quantize_block(x, 1.0F, ScaleSelection::four_over_six);
  EXPECT_EQ(decode_ue4m3(block.scale), 1.0F);
  EXPECT_EQ(squared_error(x, block, 1.0F), 0.0F);
}

TEST(QuantizeRow, IsTheBlocksSideBySide) {
  EXPECT_TRUE(rc::check([] {
    const auto blocks = *rc::gen::inRange<std::size_t>(0, 5);
    const float multiplier = arbitrary_multiplier();
    std::vector<float> x;
    for (std::size_t b = 0; b < blocks; ++b) {
      const Block block = arbitrary_block();
      x.insert(x.end(), block.begin(), block.end());
    }
    std::vector<std::uint8_t> codes(x.size() / 2);
    std::vector<std::uint8_t> scales(blocks);
    quantize_row(x, multiplier, codes, scales);
    std::vector<float> values(x.size());
    dequantize_row(codes, scales, 1.0F / multiplier, values);
    for (std::size_t b = 0; b < blocks; ++b) {
      const Nvfp4Block block = quantize_block(std::span(x).subspan(b * kBlock).first<kBlock>(), multiplier);
      RC_ASSERT(scales[b] == block.scale);
      RC_ASSERT(std::memcmp(&codes[b * 8], block.codes.data(), 8) == 0);
      for (std::size_t i = 0; i < kBlock; ++i) {
        const float expected = code_value(block, i) * decode_ue4m3(block.scale) * (1.0F / multiplier);
        RC_ASSERT(std::bit_cast<std::uint32_t>(values[b * kBlock + i]) == std::bit_cast<std::uint32_t>(expected));
      }
    }
  }));
}

}  // namespace
}  // namespace tilewright
