// Bit-for-bit agreement with tests/data/nvfp4_vectors.json, whose expected values were computed in double and rounded
// once an operation.
#include <bit>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tilewright/float_types.hpp"
#include "tilewright/nvfp4.hpp"
#include "tilewright/scale_layout.hpp"

namespace tilewright {
namespace {

using nlohmann::json;

const json& vectors() {
  static const json parsed = json::parse(std::ifstream(std::string(TILEWRIGHT_TEST_DATA) + "/nvfp4_vectors.json"));
  return parsed;
}

unsigned hex(const json& text) { return static_cast<unsigned>(std::stoul(text.get<std::string>(), nullptr, 16)); }

float probe(const json& x) {
  if (x.is_number()) return x.get<float>();
  if (x == "NaN") return std::numeric_limits<float>::quiet_NaN();
  if (x == "-0.0") return -0.0F;
  return x == "+Inf" ? std::numeric_limits<float>::infinity() : -std::numeric_limits<float>::infinity();
}

std::array<float, kBlock> block_values(const json& block) {
  std::array<float, kBlock> x{};
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = to_float(bf16{static_cast<std::uint16_t>(hex(block["x_bf16"][i]))});
  return x;
}

std::string packed_hex(const Nvfp4Block& block) {
  std::string text;
  for (const std::uint8_t byte : block.codes) {
    text += "0123456789abcdef"[byte >> 4U];
    text += "0123456789abcdef"[byte & 0xFU];
  }
  return text;
}

float quant_multiplier(const json& block) { return std::bit_cast<float>(hex(block["global_scale_fp32"])); }

void expect_exact_block(const json& vector) {
  SCOPED_TRACE(vector["name"].get<std::string>());
  const auto x = block_values(vector);
  const float multiplier = quant_multiplier(vector);
  const Nvfp4Block block = quantize_block(x, multiplier);
  EXPECT_EQ(block.scale, hex(vector["expected_scale_byte"]));
  EXPECT_EQ(packed_hex(block), vector["expected_packed_hex"].get<std::string>());

  std::array<float, kBlock> values{};
  dequantize_row(block.codes, {&block.scale, 1}, 1.0F / multiplier, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto expected = vector["dequant_fp32"][i].get<float>();
    EXPECT_EQ(std::bit_cast<std::uint32_t>(values[i]), std::bit_cast<std::uint32_t>(expected)) << "element " << i;
  }
}

TEST(Nvfp4Vectors, EveryE2m1CodeHasItsValue) {
  ASSERT_EQ(vectors()["e2m1"].size(), 16U);
  for (const json& row : vectors()["e2m1"]) {
    const float value = kE2m1Values[row["code"].get<std::size_t>()];
    EXPECT_EQ(value, row["value"].get<float>());
    EXPECT_EQ(value == 0.0F && std::signbit(value), row["negative_zero"].get<bool>());
  }
}

TEST(Nvfp4Vectors, EveryE2m1ProbeGetsItsCode) {
  ASSERT_EQ(vectors()["e2m1_encode_probe"].size(), 43U);
  for (const json& row : vectors()["e2m1_encode_probe"]) {
    EXPECT_EQ(encode_e2m1(probe(row["x"])), row["code"].get<unsigned>()) << row["x"];
  }
}

TEST(Nvfp4Vectors, EveryUe4m3ByteHasItsValue) {
  ASSERT_EQ(vectors()["ue4m3"].size(), 256U);
  for (const json& row : vectors()["ue4m3"]) {
    const auto byte = static_cast<std::uint8_t>(hex(row["byte"]));
    const float value = decode_ue4m3(byte);
    if (row["valid"].get<bool>()) {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(value), hex(row["fp32_bits"])) << row["byte"];
      EXPECT_EQ(encode_ue4m3(value), byte);
    } else if (byte == 0x80) {
      EXPECT_EQ(value, 0.0F);
    } else {
      EXPECT_TRUE(std::isnan(value)) << row["byte"];
    }
  }
}

TEST(Nvfp4Vectors, EveryUe4m3ProbeGetsItsByte) {
  ASSERT_EQ(vectors()["ue4m3_encode_probe"].size(), 18U);
  for (const json& row : vectors()["ue4m3_encode_probe"]) {
    EXPECT_EQ(encode_ue4m3(row["x"].get<float>()), hex(row["byte"])) << row["x"];
  }
}

TEST(Nvfp4Vectors, RandomBlocksMatchTheExactRecipe) {
  ASSERT_EQ(vectors()["random_blocks"].size(), 10U);
  for (const json& vector : vectors()["random_blocks"]) expect_exact_block(vector);
}

TEST(Nvfp4Vectors, EdgeBlocksMatchTheExactRecipe) {
  ASSERT_EQ(vectors()["edge_blocks"].size(), 5U);
  for (const json& vector : vectors()["edge_blocks"]) expect_exact_block(vector);
}

TEST(Nvfp4Vectors, BlocksOnWhichTheRecipesDisagreeMatchTheExactOne) {
  ASSERT_EQ(vectors()["recipe_disagreement_blocks"].size(), 2U);
  for (const json& vector : vectors()["recipe_disagreement_blocks"]) expect_exact_block(vector);
}

TEST(Nvfp4Vectors, FourOverSixBlocksMatchInBytesAndInBothErrors) {
  ASSERT_EQ(vectors()["four_over_six_blocks"].size(), 3U);
  for (const json& vector : vectors()["four_over_six_blocks"]) {
    const auto x = block_values(vector);
    const float multiplier = quant_multiplier(vector);
    const Nvfp4Block six = quantize_block(x, multiplier, ScaleSelection::amax);
    const Nvfp4Block four = quantize_block(x, multiplier, ScaleSelection::four_over_six);
    ASSERT_EQ(vector["pick"], 4);
    EXPECT_EQ(four.scale, hex(vector["scale_byte"]));
    EXPECT_EQ(packed_hex(four), vector["packed_hex"].get<std::string>());
    EXPECT_EQ(squared_error(x, six, 1.0F / multiplier), vector["err6"].get<float>());
    EXPECT_EQ(squared_error(x, four, 1.0F / multiplier), vector["err4"].get<float>());
  }
}

TEST(Nvfp4Vectors, EverySwizzleExampleHasItsOffset) {
  const json& examples = vectors()["swizzle_128x4"]["examples"];
  ASSERT_EQ(examples.size(), 13U);
  for (const json& example : examples) {
    const auto cols = example["KB"].get<std::int64_t>();
    EXPECT_EQ(swizzled_scale_offset(example["m"], example["kb"], cols), example["offset"]) << example;
    EXPECT_EQ(swizzled_scale_bytes(example["M"], cols), example["total_bytes"]) << example;
  }
}

}  // namespace
}  // namespace tilewright
