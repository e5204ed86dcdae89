#include "tilewright/nvfp4.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace tilewright {
namespace {

constexpr std::array<float, 256> ue4m3_values() {
  std::array<float, 256> values{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    const unsigned exponent = byte >> 3U;
    const auto mantissa = static_cast<float>(byte & 7U);
    if (byte >= kUe4m3Nan) {
      values[byte] = std::numeric_limits<float>::quiet_NaN();
    } else if (exponent == 0) {
      values[byte] = mantissa * 0x1p-9F;
    } else {
      values[byte] = (8.0F + mantissa) * std::bit_cast<float>((exponent + 127U - 10U) << 23U);
    }
  }
  values[0x80] = 0.0F;  // -0 of a signed e4m3
  return values;
}

constexpr std::array<float, 256> kUe4m3Values = ue4m3_values();

constexpr float kSmallestNormalUe4m3 = 0x1p-6F;

// The largest block scale under four_over_six: 1.5 * 256 = 384 is a ue4m3 value, 1.5 * 448 is not.
constexpr float kFourOverSixScaleMax = 256.0F;

// Largest magnitude; a NaN does not take part unless all 16 are NaN. In integers, where the loop vectorises: the bits
// of non-negative floats are in the order of their values, and those of a NaN lie above infinity's.
float largest_magnitude(std::span<const float, kBlock> x) {
  constexpr std::int32_t kInfinity = 0x7F800000;
  std::int32_t largest = 0;
  std::int32_t nans = 0;
  for (const float value : x) {
    const std::int32_t bits = std::bit_cast<std::int32_t>(value) & 0x7FFFFFFF;
    const std::int32_t number = bits > kInfinity ? 0 : bits;
    nans += bits > kInfinity ? 1 : 0;
    largest = number > largest ? number : largest;
  }
  return nans == kBlock ? std::numeric_limits<float>::quiet_NaN() : std::bit_cast<float>(largest);
}

// encode_e2m1 without a branch, so that the loop over a block becomes vector instructions.
inline std::uint32_t e2m1_code(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const float magnitude = std::fabs(x);
  // The code is the number of rounding boundaries passed; a boundary itself goes to the even neighbour.
  const std::uint32_t code = (magnitude > 0.25F ? 1U : 0U) + (magnitude >= 0.75F ? 1U : 0U) +
                             (magnitude > 1.25F ? 1U : 0U) + (magnitude >= 1.75F ? 1U : 0U) +
                             (magnitude > 2.5F ? 1U : 0U) + (magnitude >= 3.5F ? 1U : 0U) +
                             (magnitude > 5.0F ? 1U : 0U);
  return std::isnan(x) ? 7U : code | ((bits >> 28U) & 8U);
}

// What elements are multiplied by under a given scale byte.
float code_multiplier(std::uint8_t scale, float vec_max, float quant_multiplier) {
  if (vec_max == 0.0F) return 0.0F;
  const float multiplier = 1.0F / (kUe4m3Values[scale] * (1.0F / quant_multiplier));
  return multiplier <= std::numeric_limits<float>::max() ? multiplier : std::numeric_limits<float>::max();
}

float exact_scale(float vec_max, float quant_multiplier) {
  return vec_max != 0.0F ? vec_max * (quant_multiplier * (1.0F / kE2m1Max)) : 0.0F;
}

// The block under a given scale byte.
Nvfp4Block encode_block(std::span<const float, kBlock> x, const BlockScale& scale) {
  Nvfp4Block block;
  block.scale = scale.scale;
  std::array<std::uint32_t, kBlock> codes;
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = e2m1_code(x[i] * scale.code_multiplier);
  for (std::size_t i = 0; i < block.codes.size(); ++i) {
    block.codes[i] = static_cast<std::uint8_t>(codes[2 * i] | (codes[2 * i + 1] << 4U));
  }
  return block;
}

}  // namespace

std::uint8_t encode_e2m1(float x) { return static_cast<std::uint8_t>(e2m1_code(x)); }

std::uint8_t encode_ue4m3(float x) {
  if (std::isnan(x)) return kUe4m3Nan;
  if (!(x > 0.0F)) return 0;
  if (x >= kUe4m3Max) return 0x7E;
  if (x < kSmallestNormalUe4m3) {
    // The ulp of 2^14 is 2^-9, the step of the subnormals: the addition itself rounds to nearest even.
    return static_cast<std::uint8_t>(std::bit_cast<std::uint32_t>(x + 0x1p14F) - std::bit_cast<std::uint32_t>(0x1p14F));
  }
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (bits + 0x7FFFFU + ((bits >> 20U) & 1U)) >> 20U;
  return static_cast<std::uint8_t>(rounded - ((127U - 7U) << 3U));
}

float decode_ue4m3(std::uint8_t byte) { return kUe4m3Values[byte]; }

float global_scale_for(float amax, ScaleSelection selection) {
  if (!(amax > 0.0F) || std::isinf(amax)) return 1.0F;
  const float largest = selection == ScaleSelection::amax ? kNvfp4Max : kE2m1Max * kFourOverSixScaleMax;
  return std::fmax(amax / largest, std::numeric_limits<float>::min());
}

BlockScale block_scale(float vec_max, float quant_multiplier) {
  const std::uint8_t scale = encode_ue4m3(exact_scale(vec_max, quant_multiplier));
  return {scale, code_multiplier(scale, vec_max, quant_multiplier)};
}

Nvfp4Block quantize_block(std::span<const float, kBlock> x, float quant_multiplier, ScaleSelection selection) {
  const float vec_max = largest_magnitude(x);
  const Nvfp4Block six = encode_block(x, block_scale(vec_max, quant_multiplier));
  if (selection == ScaleSelection::amax) return six;
  const std::uint8_t scale = encode_ue4m3(1.5F * exact_scale(vec_max, quant_multiplier));
  const Nvfp4Block four = encode_block(x, {scale, code_multiplier(scale, vec_max, quant_multiplier)});
  const float global_scale = 1.0F / quant_multiplier;
  return squared_error(x, four, global_scale) < squared_error(x, six, global_scale) ? four : six;
}

float squared_error(std::span<const float, kBlock> x, const Nvfp4Block& block, float global_scale) {
  std::array<float, kBlock> values;
  dequantize_row(block.codes, {&block.scale, 1}, global_scale, values);
  std::array<float, 2> halves = {0.0F, 0.0F};
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float difference = values[i] - x[i];
    halves[i / 8] += difference * difference;
  }
  return halves[0] + halves[1];
}

void quantize_row(std::span<const float> x, float quant_multiplier, std::span<std::uint8_t> codes,
                  std::span<std::uint8_t> scales, ScaleSelection selection) {
  for (std::size_t b = 0; b < scales.size(); ++b) {
    const auto values = x.subspan(b * kBlock).first<kBlock>();
    const Nvfp4Block block = quantize_block(values, quant_multiplier, selection);
    for (std::size_t i = 0; i < block.codes.size(); ++i) codes[b * block.codes.size() + i] = block.codes[i];
    scales[b] = block.scale;
  }
}

void dequantize_row(std::span<const std::uint8_t> codes, std::span<const std::uint8_t> scales, float global_scale,
                    std::span<float> x) {
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const float scale = kUe4m3Values[scales[2 * i / kBlock]];
    x[2 * i] = kE2m1Values[codes[i] & 0xFU] * scale * global_scale;
    x[2 * i + 1] = kE2m1Values[codes[i] >> 4U] * scale * global_scale;
  }
}

}  // namespace tilewright
