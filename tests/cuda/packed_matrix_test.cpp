#include "cuda/packed_matrix.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "cpu/layer_fixture.hpp"
#include "cuda/sm90/weight_value.hpp"

namespace tilewright::cuda {
namespace {

using namespace sm90;
using cpu::Weights;

double bf16_value(std::uint32_t bits) { return std::bit_cast<float>(bits << 16U); }

/// What the kernel's decoder makes of a code word: register 0..3, both halves (fragment_decode.cuh, in plain C++).
std::uint32_t fragment_register(std::uint32_t codes, int index) {
  switch (index) {
    case 0: return codes & kCodeMask;
    case 1: return codes * 8U & kCodeMask;
    case 2: return codes * 64U & kCodeMask;
    default: return (codes * 2U & 0x80008000U) | (codes >> 5U & 0x01000100U) | (codes >> 4U & 0x00C000C0U);
  }
}

std::uint32_t scale_pair(std::uint32_t scales, int parity) {
  return (std::rotr(scales, 8 * parity) & kScaleMask) | kScaleExponent;
}

/// The weight of (row, k) as the kernel decodes it from packed memory.
double packed_weight(const std::vector<std::uint8_t>& packed, std::int64_t k_total, std::int64_t row, std::int64_t k) {
  const std::uint8_t* slab = packed.data() + (row / kSlabRows * slabs_of(k_total) + k / kSlabK) * kSlabBytes;
  const int r = static_cast<int>(row % kSlabRows);
  const int step = static_cast<int>(k % kSlabK / kStepK);
  const int kk = static_cast<int>(k % kStepK);
  const int row_half = r % 16 / 8;
  const int thread = r / 16 * 32 + r % 8 * 4 + kk % 8 / 2;
  const std::uint32_t codes = word_at(slab + thread * 16 + step * 4);
  const std::uint32_t scales = word_at(slab + kSlabCodeBytes + r / 16 * kWarpScaleBytes + r % 8 * 8 + step / 2 * 4);
  const std::uint32_t pair = fragment_register(codes, row_half + kk / 8 * 2);
  const std::uint32_t scale = scale_pair(scales, step % 2) >> (16U * static_cast<unsigned>(row_half)) & 0xFFFFU;
  return bf16_value(pair >> (16U * static_cast<unsigned>(kk % 2)) & 0xFFFFU) * bf16_value(scale) * kWeightUnbias;
}

void expect_weights(const std::vector<std::uint8_t>& packed, std::int64_t row, const Nvfp4Matrix& matrix,
                    std::int64_t n) {
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(matrix.cols / 2));
  std::vector<std::uint8_t> scales(static_cast<std::size_t>(matrix.cols / 16));
  if (n < matrix.rows) matrix.read_row(n, codes.data(), scales.data());
  for (std::int64_t k = 0; k < slabs_of(matrix.cols) * kSlabK; ++k) {
    double expected = 0.0;
    if (k < matrix.cols) {
      const unsigned code = codes[static_cast<std::size_t>(k / 2)] >> (4 * (k % 2)) & 15U;
      expected = static_cast<double>(kE2m1Values[code]) *
                 static_cast<double>(decode_ue4m3(scales[static_cast<std::size_t>(k / 16)]));
    }
    ASSERT_EQ(packed_weight(packed, matrix.cols, row, k), expected) << "row " << row << " k " << k;
    const double plain = weight_at(packed.data(), slabs_of(matrix.cols), static_cast<int>(row), static_cast<int>(k));
    ASSERT_EQ(plain, expected) << "what kernels are checked against: row " << row << " k " << k;
  }
}

TEST(PackedMatrix, DecodesEveryCodeUnderEveryScaleExactly) {
  // Row r has block scale byte r, and its 16 codes in order.
  constexpr int kRows = 0x7F;
  std::vector<std::uint8_t> codes(kRows * 8);
  std::vector<std::uint8_t> scales(kRows);
  for (int r = 0; r < kRows; ++r) {
    for (int k = 0; k < 16; k += 2) codes[r * 8 + k / 2] = static_cast<std::uint8_t>(k | (k + 1) << 4);
    scales[r] = static_cast<std::uint8_t>(r);
  }
  Nvfp4Matrix matrix;
  matrix.codes = codes.data();
  matrix.scales = scales.data();
  matrix.rows = matrix.valid_rows = kRows;
  matrix.cols = matrix.valid_cols = 16;
  matrix.code_row_stride = 8;
  matrix.scale_row_stride = 1;
  std::vector<std::uint8_t> packed(static_cast<std::size_t>(packed_bytes(matrix, matrix)), 0xEE);
  ASSERT_TRUE(pack_matrix(matrix, matrix, packed.data()));
  for (int r = 0; r < 128; ++r) expect_weights(packed, r, matrix, r);
}

TEST(PackedMatrix, ProductsOfCodeAndScaleNeedNoMoreBitsThanBf16Has) {
  for (unsigned byte = 1; byte <= 0x7E; ++byte) {
    const double scale = bf16_value(scale_pair(place_scale(e5m3_of(byte), 0, 0), 0) & 0xFFFFU);
    for (unsigned code = 0; code < 16; ++code) {
      const auto product = static_cast<float>(bf16_value(place_code(code, 0, 0)) * scale);
      EXPECT_EQ(std::bit_cast<std::uint32_t>(product) & 0xFFFFU, 0U) << "code " << code << " scale " << byte;
    }
  }
}

TEST(PackedMatrix, InterleavesGateAndUpByEightRowsAndPadsWithZeros) {
  Weights weights;
  const Nvfp4Matrix gate = weights.random_matrix(40, 176, 1.0F);
  const Nvfp4Matrix up = weights.random_matrix(40, 176, 1.0F);
  EXPECT_EQ(packed_rows(gate, up), 80);
  EXPECT_EQ(packed_bytes(gate, up), 2 * 3 * kSlabBytes);
  std::vector<std::uint8_t> packed(static_cast<std::size_t>(packed_bytes(gate, up)), 0xEE);
  ASSERT_TRUE(pack_matrix(gate, up, packed.data()));
  for (std::int64_t n = 0; n < 64; ++n) {
    expect_weights(packed, n / 8 * 16 + n % 8, gate, n);
    expect_weights(packed, n / 8 * 16 + 8 + n % 8, up, n);
  }
}

TEST(PackedMatrix, RefusesAScaleThatIsNanOrNegativeAndReadsMinusZeroAsZero) {
  Weights weights;
  const Nvfp4Matrix matrix = weights.random_matrix(16, 32, 1.0F);
  auto* scales = const_cast<std::uint8_t*>(matrix.scales);  // the fixture owns them
  std::vector<std::uint8_t> packed(static_cast<std::size_t>(packed_bytes(matrix, matrix)));
  for (const int bad : {0x7F, 0xFF, 0x81}) {
    scales[5] = static_cast<std::uint8_t>(bad);
    const Status status = pack_matrix(matrix, matrix, packed.data());
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::corrupt);
    EXPECT_NE(status.error().message().find("row 2, block 1"), std::string::npos) << status.error().message();
  }
  scales[5] = 0x80;
  ASSERT_TRUE(pack_matrix(matrix, matrix, packed.data()));
  for (int k = 16; k < 32; ++k) EXPECT_EQ(packed_weight(packed, 32, 2, k), 0.0);
}

TEST(PackedMatrix, RefusesAPairOfDifferentShapes) {
  Weights weights;
  const Nvfp4Matrix gate = weights.random_matrix(16, 32, 1.0F);
  const Nvfp4Matrix up = weights.random_matrix(16, 48, 1.0F);
  std::uint8_t nothing = 0;
  const Status status = pack_matrix(gate, up, &nothing);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::mismatch);
}

}  // namespace
}  // namespace tilewright::cuda
