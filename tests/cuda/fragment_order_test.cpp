// SM120's tile order against the instruction's own table of fragments.
#include "cuda/sm120/fragment_order.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "cuda/nvfp4_matrix.hpp"
#include "cuda/packed_matrix.hpp"

namespace tilewright::cuda {
namespace {

unsigned nibble(const std::uint8_t* word, int i) { return word[i / 2] >> (4 * (i % 2)) & 15U; }

/// Code k of row n of a matrix in file order.
unsigned code_of(const Matrix& m, int n, int k) {
  if (n >= m.view.rows || k >= m.view.cols) return 0;
  const auto cols = static_cast<std::size_t>(m.view.cols);
  const std::size_t row = static_cast<std::size_t>(n);
  const unsigned scale = m.scales[row * cols / 16 + static_cast<std::size_t>(k) / 16] & 0x7FU;
  if (scale == 0) return 0;  // codes under no scale are packed as zeros
  const unsigned byte = m.codes[row * cols / 2 + static_cast<std::size_t>(k) / 2];
  return k % 2 == 0 ? byte & 15U : byte >> 4U;
}

unsigned scale_of(const Matrix& m, int n, int block) {
  if (n >= m.view.rows || block >= m.view.cols / 16) return 0;
  return m.scales[static_cast<std::size_t>(n * m.view.cols / 16 + block)] & 0x7FU;
}

// Register i of lane 4g + t of A: row g + 8 (i % 2), k 8t + 32 (i / 2) on; scales of rows g and g + 8 in lanes 4g and
// 4g + 1 of the first step, 4g + 2 and 4g + 3 of the second.
TEST(FragmentOrder, GivesEachLaneTheCodesAndScalesThatTheInstructionReads) {
  std::mt19937 random(3);
  const Matrix m = random_matrix(176, 208, random);
  std::vector<std::uint8_t> packed(static_cast<std::size_t>(packed_bytes(m.view, m.view, WeightOrder::sm120)));
  ASSERT_TRUE(pack_matrix(m.view, m.view, packed.data(), WeightOrder::sm120));
  ASSERT_EQ(packed.size(), 2U * 2U * 9216U);
  for (int unit = 0; unit < 16; ++unit) {
    for (int slab = 0; slab < 2; ++slab) {
      const std::uint8_t* at = packed.data() + ((unit / 8 * 2 + slab) * 8 + unit % 8) * 1152;
      for (int lane = 0; lane < 32; ++lane) {
        const int g = lane / 4;
        const int t = lane % 4;
        for (int step = 0; step < 2; ++step) {
          for (int i = 0; i < 4; ++i) {
            for (int j = 0; j < 8; ++j) {
              const int k = slab * 128 + step * 64 + 8 * t + 32 * (i / 2) + j;
              ASSERT_EQ(nibble(at + step * 512 + lane * 16 + i * 4, j), code_of(m, unit * 16 + g + 8 * (i % 2), k));
            }
          }
        }
        for (int i = 0; i < 4; ++i) {
          ASSERT_EQ(at[1024 + lane * 4 + i], scale_of(m, unit * 16 + g + 8 * (t % 2), slab * 8 + t / 2 * 4 + i));
        }
      }
    }
  }
}

TEST(FragmentOrder, HasAPlaceOfItsOwnForEveryBlockOfTokens) {
  constexpr std::int64_t kRows = 24;
  constexpr std::int64_t kK = 272;
  std::set<std::int64_t> bytes;
  for (std::int64_t r = 0; r < kRows; ++r) {
    for (std::int64_t b = 0; b < sm120::slabs_of(kK) * 8; ++b) {
      const sm120::BlockPlace at = sm120::token_place(r, b, kRows);
      for (int i = 0; i < 4; ++i) {
        EXPECT_TRUE(bytes.insert(at.codes_low + i).second);
        EXPECT_TRUE(bytes.insert(at.codes_high + i).second);
      }
      EXPECT_TRUE(bytes.insert(at.scale).second);
      // b0 of the first step is k 8t of column g: block 0 begins in lane 4g, and its second half is lane 4g + 1's.
      if (b == 0) {
        EXPECT_EQ(at.codes_low, r / 8 * 576 + r % 8 * 64);
      }
    }
  }
  EXPECT_EQ(*bytes.begin(), 0);
  EXPECT_EQ(*bytes.rbegin() + 1, sm120::token_bytes(kRows, kK));
  EXPECT_EQ(static_cast<std::int64_t>(bytes.size()), sm120::token_bytes(kRows, kK));
}

// MMA j of a step multiplies codes j and j + 4 of a lane's registers: k 8t + j and 8t + j + 4, in b1 32 higher. A
// lane's 16 bytes are b0 and b1 of two MMAs.
TEST(FragmentOrder, GivesEachLaneTheBf16TokensOfTheCodesThatItDecodes) {
  constexpr std::int64_t kRows = 16;
  for (int unit = 0; unit < 2; ++unit) {
    for (int slab = 0; slab < 3; ++slab) {
      const std::int64_t at = (slab * 2 + unit) * 2048;
      for (int step = 0; step < 2; ++step) {
        for (int j = 0; j < 4; ++j) {
          for (int lane = 0; lane < 32; ++lane) {
            for (int b = 0; b < 2; ++b) {
              const std::int64_t word = at + step * 1024 + j / 2 * 512 + lane * 16 + j % 2 * 8 + b * 4;
              const int row = unit * 8 + lane / 4;
              const int k = slab * 128 + step * 64 + 8 * (lane % 4) + 32 * b + j;
              ASSERT_EQ(sm120::bf16_value_place(row, k, kRows), word);
              ASSERT_EQ(sm120::bf16_value_place(row, k + 4, kRows), word + 2);
            }
          }
        }
      }
    }
  }
}

TEST(FragmentOrder, HasAPlaceOfItsOwnForEveryBf16Value) {
  constexpr std::int64_t kRows = 24;
  constexpr std::int64_t kK = 272;
  std::set<std::int64_t> places;
  for (std::int64_t r = 0; r < kRows; ++r) {
    for (std::int64_t k = 0; k < sm120::slabs_of(kK) * sm120::kSlabK; ++k) {
      const std::int64_t place = sm120::bf16_value_place(r, k, kRows);
      EXPECT_EQ(place % 2, 0);
      EXPECT_TRUE(places.insert(place).second);
    }
  }
  EXPECT_EQ(*places.begin(), 0);
  EXPECT_EQ(*places.rbegin() + 2, sm120::bf16_token_bytes(kRows, kK));
  EXPECT_EQ(2 * static_cast<std::int64_t>(places.size()), sm120::bf16_token_bytes(kRows, kK));
}

}  // namespace
}  // namespace tilewright::cuda
