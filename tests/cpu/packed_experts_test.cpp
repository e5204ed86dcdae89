#include "cpu/packed_experts.hpp"

#include <gtest/gtest.h>

#include "cpu/layer_fixture.hpp"

namespace tilewright::cpu {
namespace {

/// Strip `s`, row `row` must hold row `n` of `matrix`; past its rows, zeros.
void expect_row(const PackedMatrix& packed, std::int64_t s, int row, const Nvfp4Matrix& matrix, std::int64_t n) {
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(matrix.cols / 2));
  std::vector<std::uint8_t> scales(static_cast<std::size_t>(matrix.cols / kBlock));
  if (n < matrix.rows) matrix.read_row(n, codes.data(), scales.data());
  for (int k = 0; k < packed.groups() * kGroupK; ++k) {
    const std::uint8_t* group = packed.strip(s) + k / kGroupK * kGroupBytes;
    const int block = k % kGroupK / kBlock;
    const unsigned byte = group[code_offset(row, block, k % kBlock)];
    const unsigned code = k & 4 ? byte >> 4U : byte & 15U;
    const bool inside = k < matrix.cols;
    ASSERT_EQ(code, inside ? codes[k / 2] >> (4 * (k % 2)) & 15U : 0U) << "strip " << s << " row " << row << " k " << k;
    ASSERT_EQ(group[scale_offset(row, block)], inside ? scales[k / kBlock] : 0);
  }
}

TEST(PackedExperts, InterleavesGateAndUpByEightRows) {
  Weights weights;
  const ExpertWeights layer = weights.random_layer(80, 48, 2, true, true);
  const auto packed = PackedExperts::pack(layer, 2);
  ASSERT_TRUE(packed) << packed.error().message();
  for (int e = 0; e < 2; ++e) {
    const PackedMatrix& gemm1 = (*packed)[e].gemm1;
    ASSERT_EQ(gemm1.strip_count, 6);
    EXPECT_EQ(gemm1.half_scale[0], layer.experts[e].gate.global_scale);
    EXPECT_EQ(gemm1.half_scale[1], layer.experts[e].up.global_scale);
    for (std::int64_t s = 0; s < gemm1.strip_count; ++s) {
      for (int row = 0; row < kHalfStrip; ++row) {
        expect_row(gemm1, s, row, layer.experts[e].gate, s * kHalfStrip + row);
        expect_row(gemm1, s, kHalfStrip + row, layer.experts[e].up, s * kHalfStrip + row);
      }
    }
  }
}

TEST(PackedExperts, FillsStripsOfANonGatedExpertAndPadsTheLast) {
  Weights weights;
  const ExpertWeights layer = weights.random_layer(32, 48, 1, false, false);
  const auto packed = PackedExperts::pack(layer, 1);
  ASSERT_TRUE(packed);
  const PackedMatrix& gemm1 = (*packed)[0].gemm1;
  ASSERT_EQ(gemm1.strip_count, 3);
  for (std::int64_t n = 0; n < 48; ++n) {
    expect_row(gemm1, n / kStripRows, static_cast<int>(n % kStripRows), layer.experts[0].up, n);
  }
  for (std::int64_t n = 0; n < 32; ++n) {
    expect_row((*packed)[0].gemm2, n / kStripRows, static_cast<int>(n % kStripRows), layer.experts[0].down, n);
  }
}

TEST(PackedExperts, PadsRowsThatDoNotFillAStripWithZeros) {
  Weights weights;
  const ExpertWeights layer = weights.random_layer(24 * 16, 16, 1, true, false);
  ExpertWeights odd = layer;
  odd.hidden = 384;
  odd.experts[0].down = rows_of(layer.experts[0].down, 0, 384);
  const auto packed = PackedExperts::pack(odd, 1);
  ASSERT_TRUE(packed);
  // I = 16 channels are two strips of 8; a third would be padding, and there is none.
  EXPECT_EQ((*packed)[0].gemm1.strip_count, 2);
  const std::int64_t expected = 2 * strip_bytes(384) + 24 * strip_bytes(16);
  EXPECT_EQ(packed->bytes(), expected);
}

TEST(PackedExperts, PacksAScaleByteOfNegativeZeroAsZero) {
  Weights weights;
  ExpertWeights layer = weights.random_layer(32, 48, 1, false, false);
  Nvfp4Matrix& up = layer.experts[0].up;
  std::vector<std::uint8_t> scales(up.scales, up.scales + up.rows * up.cols / kBlock);
  constexpr int kRow = 17;
  scales[kRow * 2 + 1] = 0x80;
  up.scales = scales.data();
  const auto packed = PackedExperts::pack(layer, 1);
  ASSERT_TRUE(packed) << packed.error().message();
  const std::uint8_t* strip = (*packed)[0].gemm1.strip(kRow / kStripRows);
  EXPECT_EQ(strip[scale_offset(kRow % kStripRows, 1)], 0);
  EXPECT_EQ(strip[scale_offset(kRow % kStripRows, 0)], scales[kRow * 2]);  // and its neighbour as it was
}

TEST(PackedExperts, GivesBackThePagesOfEachExpertOnceItIsPacked) {
  Weights weights;
  ExpertWeights layer = weights.random_layer(32, 16, 3, true, false);
  std::vector<int> released;
  layer.release_pages = [&](int expert) { released.push_back(expert); };
  ASSERT_TRUE(PackedExperts::pack(layer, 1));
  EXPECT_EQ(released, (std::vector<int>{0, 1, 2}));
}

TEST(PackedExperts, NamesTheExpertAndMatrixWhoseShapeIsWrong) {
  Weights weights;
  ExpertWeights layer = weights.random_layer(32, 32, 2, true, false);
  layer.first_expert = 10;
  layer.experts[1].down = rows_of(layer.experts[1].down, 0, 16);
  const auto packed = PackedExperts::pack(layer, 1);
  ASSERT_FALSE(packed);
  EXPECT_EQ(packed.error().code, ErrorCode::mismatch);
  EXPECT_NE(packed.error().cause.find("expert 11 down is 16 x 32, expected 32 x 32"), std::string::npos)
      << packed.error().cause;
}

}  // namespace
}  // namespace tilewright::cpu
