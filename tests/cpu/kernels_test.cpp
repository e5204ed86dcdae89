#include "cpu/kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "cpu/packed_experts.hpp"
#include "cpu/row_values.hpp"
#include "cpu/strip_dot.hpp"
#include "tilewright/nvfp4.hpp"

namespace tilewright::cpu {
namespace {

/// A strip of random codes under scales of every kind: zero, subnormal, normal, the largest.
class Strip {
 public:
  Strip(int groups, unsigned seed) : groups_(groups) {
    // One group more: kernels prefetch, and may not read, past the end.
    bytes_ = *allocate_weights((groups + 1) * kGroupBytes);
    std::mt19937 random(seed);
    for (int g = 0; g < groups; ++g) {
      std::uint8_t* group = bytes_.get() + g * kGroupBytes;
      for (int i = 0; i < kGroupBytes; ++i) group[i] = static_cast<std::uint8_t>(random());
      for (int i = 0; i < kGroupScaleBytes; ++i) group[i] = static_cast<std::uint8_t>(random() % 0x7F);
    }
  }

  [[nodiscard]] const std::uint8_t* data() const { return bytes_.get(); }
  [[nodiscard]] int groups() const { return groups_; }

  /// Twice the weight at (row, k): the doubled code times the block scale.
  [[nodiscard]] double doubled_weight(int row, int k) const {
    const std::uint8_t* group = bytes_.get() + k / kGroupK * kGroupBytes;
    const int block = k % kGroupK / kBlock;
    const unsigned byte = group[code_offset(row, block, k % kBlock)];
    const unsigned code = k & 4 ? byte >> 4U : byte & 15U;
    return 2.0 * kE2m1Values[code] * decode_ue4m3(group[scale_offset(row, block)]);
  }

 private:
  int groups_;
  std::shared_ptr<std::uint8_t> bytes_;
};

DotRows random_rows(int count, int k, RowFormat format, const KernelTable& table, Precision precision, unsigned seed) {
  std::mt19937 random(seed);
  DotRows rows;
  rows.reset(count, k, format, table.rows);
  for (int r = 0; r < count; ++r) {
    std::vector<float> x;
    for (int i = 0; i < k; ++i) x.push_back(round_to_bf16(static_cast<float>(random() % 4001) / 1000.0F - 2.0F));
    EXPECT_TRUE(precision == Precision::w4a16 ? rows.set_wide(r, x) : rows.set_nvfp4(r, x, 1.0F / 448.0F));
  }
  return rows;
}

struct Dot {
  double value = 0.0;
  double magnitude = 0.0;  ///< of the terms, added up
};

Dot exact_dot(const Strip& strip, int row, const std::vector<double>& x) {
  Dot dot;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double term = strip.doubled_weight(row, static_cast<int>(k)) * x[k];
    dot.value += term;
    dot.magnitude += std::fabs(term);
  }
  return dot;
}

/// Blocks are exact, so fp32 rounds each block's sum twice (conversion, product) and each addition once; vdpbf16ps
/// rounds each of its 8 pairs a block instead.
double tolerance(const Dot& dot, int groups) { return dot.magnitude * 0x1p-24 * (3.0 + 8.0 * groups * kGroupBlocks); }

/// The result of row r must be `base` plus the exact dot product.
template <typename T>
void expect_rows(const Strip& strip, const DotRows& rows, int count, const std::vector<T>& c, float base) {
  for (int r = 0; r < count; ++r) {
    const std::vector<double> x = record_values(rows.row(r), rows.format(), rows.groups());
    for (int n = 0; n < kStripRows; ++n) {
      const Dot dot = exact_dot(strip, n, x);
      EXPECT_NEAR(c[r * kStripRows + n], dot.value + base, tolerance(dot, strip.groups()) + base * 0x1p-20)
          << "row " << r << " weight row " << n;
    }
  }
}

class Kernels : public testing::TestWithParam<std::tuple<IsaTier, Precision>> {
 protected:
  [[nodiscard]] static const KernelSet& set() { return kernels(std::get<0>(GetParam())).of(std::get<1>(GetParam())); }

  static DotRows rows_of(int count, int k, RowFormat format, unsigned seed) {
    return random_rows(count, k, format, kernels(std::get<0>(GetParam())), std::get<1>(GetParam()), seed);
  }
};

TEST_P(Kernels, StreamEqualsTheExactDotProduct) {
  for (const int groups : {1, 2, 7}) {
    const Strip strip(groups, 5);
    const DotRows rows = rows_of(set().stream_rows, groups * kGroupK, set().stream_format, 9);
    for (int count = 1; count <= set().stream_rows; ++count) {
      std::vector<const std::uint8_t*> pointers;
      for (int r = 0; r < count; ++r) pointers.push_back(rows.row(r));
      std::vector<float> c(static_cast<std::size_t>(count * kStripRows), std::nanf(""));
      set().stream_dot(strip.data(), groups, pointers.data(), count, c.data());
      expect_rows(strip, rows, count, c, 0.0F);
    }
  }
}

TEST_P(Kernels, PanelAddsTheExactDotProductForAnyNumberOfRows) {
  if (set().panel_dot == nullptr) GTEST_SKIP() << "this tier multiplies tiles";
  constexpr int kGroups = 3;
  constexpr int kMost = 27;  // past every kernel's rows a pass, with every remainder on the way
  const Strip strip(kGroups, 6);
  std::vector<std::uint8_t> storage(static_cast<std::size_t>(panel_bytes(kGroups)) + 64);
  auto* panel = storage.data() + (64 - reinterpret_cast<std::uintptr_t>(storage.data()) % 64) % 64;
  set().expand_panel(strip.data(), kGroups, panel);
  const DotRows rows = rows_of(kMost, kGroups * kGroupK, set().panel_format, 10);
  std::vector<const std::uint8_t*> pointers;
  for (int r = 0; r < kMost; ++r) pointers.push_back(rows.row(r));
  for (int count = 1; count <= kMost; ++count) {
    std::vector<float> c(static_cast<std::size_t>(count * kStripRows), 16.0F);
    set().panel_dot(panel, kGroups, pointers.data(), count, c.data());
    expect_rows(strip, rows, count, c, 16.0F);
  }
}

TEST_P(Kernels, ZeroScalesHideWhateverTheCodesAre) {
  Strip strip(1, 7);
  auto* bytes = const_cast<std::uint8_t*>(strip.data());
  std::fill_n(bytes, kGroupScaleBytes, std::uint8_t{0});
  const DotRows rows = rows_of(1, kGroupK, set().stream_format, 12);
  const std::uint8_t* pointer = rows.row(0);
  std::vector<float> c(kStripRows, 1.0F);
  set().stream_dot(strip.data(), 1, &pointer, 1, c.data());
  for (const float value : c) EXPECT_EQ(value, 0.0F);
}

TEST_P(Kernels, CountsTheMultiplyAddsOfItsPeakLoop) {
  EXPECT_GT(set().dot_peak(1), 0.0);
  EXPECT_EQ(set().dot_peak(300), 100.0 * set().dot_peak(3));
}

INSTANTIATE_TEST_SUITE_P(EveryTierThatRunsHere, Kernels,
                         testing::Combine(testing::ValuesIn(available_tiers()),
                                          testing::Values(Precision::w4a16, Precision::w4a4)),
                         [](const auto& param) {
                           return std::string(to_string(std::get<0>(param.param))) + "_" +
                                  to_string(std::get<1>(param.param));
                         });

/// The products of contiguous strips with rows, from a kernel that multiplies tiles.
class TileProduct {
 public:
  TileProduct(const std::vector<const Strip*>& strips, const DotRows& rows, int count) {
    const KernelSet& set = kernels(IsaTier::amx_bf16).w4a4;
    const int groups = strips.front()->groups();
    const int blocks = (count + kTileBlockRows - 1) / kTileBlockRows;
    std::uint8_t* tiles = tiles_.reserve(blocks * kTileBlockRows * groups * kGroupK * 2);
    std::vector<const std::uint8_t*> pointers;
    for (int r = 0; r < count; ++r) pointers.push_back(rows.row(r));
    set.gather_tiles(pointers.data(), count, groups, tiles);
    const auto size = static_cast<std::size_t>(groups) * kGroupBytes;
    const auto memory = *allocate_weights(static_cast<std::int64_t>(strips.size() * size));
    for (std::size_t s = 0; s < strips.size(); ++s) std::copy_n(strips[s]->data(), size, memory.get() + s * size);
    const auto values = static_cast<std::size_t>(count) * kStripRows;
    const std::size_t even = (strips.size() + 1) / 2 * 2;
    std::vector<float> c(even * values + 1, kGuard);
    set.tile_dot(memory.get(), static_cast<int>(strips.size()), groups, tiles, count,
                 panel_.reserve(groups * kTilePanelBytes), c.data());
    EXPECT_EQ(c.back(), kGuard) << "written past row " << count;
    for (std::size_t s = 0; s < strips.size(); ++s) {
      sums.emplace_back();
      // In double, where the factor of twice the weight, as Strip counts, does not overflow.
      for (std::size_t i = 0; i < values; ++i)
        sums[s].push_back(std::ldexp(static_cast<double>(c[s * values + i]), 113));
    }
  }

  std::vector<std::vector<double>> sums;

 private:
  static constexpr float kGuard = -7.0F;
  AlignedBytes tiles_;
  AlignedBytes panel_;
};

class TileKernels : public testing::Test {
 protected:
  void SetUp() override {
    if (best_tier() != IsaTier::amx_bf16) GTEST_SKIP() << "this processor has no tiles of bf16";
  }

  static DotRows tile_rows(int count, int k, Precision precision) {
    return random_rows(count, k, RowFormat::bf16_tile, kernels(IsaTier::amx_bf16), precision, 10);
  }
};

TEST_F(TileKernels, EqualTheExactDotProductForAnyNumberOfRows) {
  for (const int groups : {1, 2, 5}) {
    const Strip first(groups, 6);
    const Strip second(groups, 8);
    constexpr int kMost = 67;  // past two passes of two row blocks, with every remainder on the way
    for (const Precision precision : {Precision::w4a16, Precision::w4a4}) {
      const DotRows rows = tile_rows(kMost, groups * kGroupK, precision);
      for (int count = 1; count <= kMost; ++count) {
        const TileProduct product({&first, &second, &first}, rows, count);
        expect_rows(first, rows, count, product.sums[0], 0.0F);
        expect_rows(second, rows, count, product.sums[1], 0.0F);
        expect_rows(first, rows, count, product.sums[2], 0.0F);
      }
    }
  }
}

TEST_F(TileKernels, LoseNoSmallActivationBesideALargeOne) {
  const Strip strip(1, 9);
  DotRows rows = tile_rows(1, kGroupK, Precision::w4a16);
  std::vector<float> x(kGroupK, 0.0F);
  x[3] = 0x1p-100F;  // meets weights of its own, since the large one is in a block under a scale of zero
  x[40] = 1.0F;
  auto* bytes = const_cast<std::uint8_t*>(strip.data());
  std::fill_n(bytes + scale_offset(0, 40 / kBlock), kStripRows, std::uint8_t{0});
  std::fill_n(bytes, kStripRows, std::uint8_t{0x01});  // the smallest scale, 2^-9
  ASSERT_TRUE(rows.set_wide(0, x));
  const TileProduct product({&strip}, rows, 1);
  for (int n = 0; n < kStripRows; ++n) {
    const double value = static_cast<double>(product.sums[0][n]) * rows.unit(0);
    EXPECT_EQ(value, strip.doubled_weight(n, 3) * x[3]) << "weight row " << n;
  }
}

TEST(IsaTier, SelectsByNameAndNamesWhatThisProcessorLacks) {
  for (const IsaTier tier : available_tiers()) EXPECT_EQ(*select_tier(to_string(tier)), tier);
  const auto unknown = select_tier("sse9");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(unknown.error().message().find("avx512_vnni"), std::string::npos);
  if (best_tier() != IsaTier::amx_bf16) {
    const auto lacking = select_tier("amx_bf16");
    ASSERT_FALSE(lacking);
    EXPECT_EQ(lacking.error().code, ErrorCode::unsupported);
  }
}

}  // namespace
}  // namespace tilewright::cpu
