// The machine code of SM120's kernels, read out of their object files: of the native ones, which run on a card that is
// not here, and of those that are timed elsewhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tilewright/binary_images.hpp"
#include "tilewright/sm120_catalogue.hpp"

namespace tilewright {
namespace {

/// Machine code in an object of kernels; the test fails where there is none.
std::vector<CodeImage> images_in(const std::string& object) {
  auto report = read_binary(std::string(TILEWRIGHT_PTXAS_REPORTS) + "/" + object);
  if (!report) {
    ADD_FAILURE() << report.error().message();
    return {};
  }
  std::vector<CodeImage> images;
  for (CodeImage& image : report->images) {
    if (image.kind == ImageKind::cubin) images.push_back(std::move(image));
  }
  return images;
}

/// The object of one tile. `kind`: native and emulated are w4a4's, w4a16 is for SM12x and SM90 at once.
std::vector<CodeImage> images_of(std::size_t tile, const std::string& kind = "native") {
  return images_in("sm120_" + kind + "_" + std::to_string(tile) + ".o");
}

/// MMAs of a warp for one k-block: 16 x 8 x 64 each, 16 x 8 x 16 with w4a16. The loop over k-blocks is not unrolled,
/// all within one is.
int mmas_of(const Sm120Tile& tile, Consumers consumers, int mma_k = 64) {
  const Schedule s = sm120_schedule(tile, consumers, 2, SplitKind::none, Epilogue::bf16);
  const int warps = s.roles.consumer_warps / (consumers == Consumers::pingpong ? 2 : 1);
  return tile.m / 16 * (tile.n / 8) * (tile.k / mma_k) / warps;
}

TEST(NativeCode, HasTheBlockScaledMmasThatEachTileNeedsAndNoSpill) {
  for (std::size_t t = 0; t < kSm120Tiles.size(); ++t) {
    const Sm120Tile& tile = kSm120Tiles[t];
    std::vector<int> expected(kSm120Endings.size(), mmas_of(tile, Consumers::cooperative));
    if (tile.pingpong) expected.insert(expected.end(), kSm120Endings.size(), mmas_of(tile, Consumers::pingpong));
    std::sort(expected.begin(), expected.end());
    const std::vector<CodeImage> images = images_of(t);
    ASSERT_FALSE(images.empty()) << "tile " << t;
    for (const CodeImage& image : images) {
      EXPECT_TRUE(image.target.number == 120 || image.target.number == 121);
      EXPECT_NE(image.target.suffix, '\0') << "a plain target has no block-scaled MMA";
      std::vector<int> mmas;
      for (const KernelInfo& kernel : image.kernels) {
        mmas.push_back(kernel.fp4_mma.value_or(-1));
        EXPECT_EQ(kernel.local_memory_loads, 0) << kernel.symbol;
        EXPECT_EQ(kernel.local_memory_stores, 0) << kernel.symbol;
        EXPECT_EQ(kernel.static_shared_bytes, 0) << kernel.symbol;
        EXPECT_LE(kernel.registers.value_or(999), 168) << "twelve warps have no more each at launch: " << kernel.symbol;
        EXPECT_GE(kernel.griddep_wait, 2) << kernel.symbol;
        EXPECT_EQ(kernel.griddep_launch, 1) << kernel.symbol;
      }
      std::sort(mmas.begin(), mmas.end());
      EXPECT_EQ(mmas, expected) << tile.m << 'x' << tile.n << 'x' << tile.k;
    }
  }
}

/// MMAs of each w4a16 kernel of a tile in its code, fewest first. With 128 sums the two steps of 64 k are a loop.
std::vector<int> bf16_mmas_of(const Sm120Tile& tile) {
  std::vector<int> mmas;
  for (const Epilogue ending : kSm120Bf16Endings) {
    for (const Consumers consumers : {Consumers::cooperative, Consumers::pingpong}) {
      if (!sm120_builds(tile, consumers, ending, Precision::w4a16)) continue;
      const Schedule s = sm120_schedule(tile, consumers, 2, SplitKind::none, ending, Precision::w4a16);
      mmas.push_back(mmas_of(tile, consumers, 16) / (accumulators(s) >= 128 ? 2 : 1));
    }
  }
  std::sort(mmas.begin(), mmas.end());
  return mmas;
}

TEST(NativeCode, HasTheBf16MmasThatEachTileOfW4a16NeedsOnBothGpusAndNoSpill) {
  std::size_t targets = 0;
  for (std::size_t t = 0; t < kSm120Tiles.size(); ++t) {
    const Sm120Tile& tile = kSm120Tiles[t];
    const std::vector<int> expected = bf16_mmas_of(tile);
    for (const CodeImage& image : images_of(t, "w4a16")) {
      targets += image.kernels.empty() ? 0 : 1;
      std::vector<int> mmas;
      for (const KernelInfo& kernel : image.kernels) {
        mmas.push_back(kernel.half_mma.value_or(-1));
        EXPECT_EQ(kernel.local_memory_loads, 0) << kernel.symbol;
        EXPECT_EQ(kernel.local_memory_stores, 0) << kernel.symbol;
        EXPECT_EQ(kernel.static_shared_bytes, 0) << kernel.symbol;
        EXPECT_LE(kernel.registers.value_or(999), 168) << kernel.symbol;
        EXPECT_GE(kernel.griddep_wait, 2) << kernel.symbol;
        EXPECT_EQ(kernel.griddep_launch, 1) << kernel.symbol;
      }
      std::sort(mmas.begin(), mmas.end());
      EXPECT_EQ(mmas, expected) << tile.m << 'x' << tile.n << 'x' << tile.k << " for sm_" << image.target.number;
    }
  }
  EXPECT_GE(targets, 2U * 8U) << "eight tiles, for SM12x and SM90";
}

// 64 sums and more a thread need registers that the loading warps give up: by 'setmaxnreg' in both branches.
TEST(NativeCode, MovesRegistersWhereAThreadHasManySums) {
  for (std::size_t t = 0; t < kSm120Tiles.size(); ++t) {
    const Sm120Tile& tile = kSm120Tiles[t];
    std::vector<int> expected;
    for (const Consumers consumers : {Consumers::cooperative, Consumers::pingpong}) {
      if (consumers == Consumers::pingpong && !tile.pingpong) continue;
      const Schedule s = sm120_schedule(tile, consumers, 2, SplitKind::none, Epilogue::bf16);
      expected.insert(expected.end(), kSm120Endings.size(), accumulators(s) >= 64 ? 2 : 0);
    }
    std::sort(expected.begin(), expected.end());
    for (const CodeImage& image : images_of(t)) {
      std::vector<int> moves;
      for (const KernelInfo& kernel : image.kernels) moves.push_back(kernel.setmaxnreg.value_or(-1));
      std::sort(moves.begin(), moves.end());
      EXPECT_EQ(moves, expected) << tile.m << 'x' << tile.n << 'x' << tile.k;
    }
  }
}

/// Loads of a warp's fragments for one k-block: of a unit its weights for two steps and their scales, of a column its
/// tokens for both steps, and scales for two columns; for each 128 of K.
int fragment_loads_of(const Sm120Tile& tile, Consumers consumers) {
  const WarpGrid grid = sm120_warp_grid(sm120_schedule(tile, consumers, 2, SplitKind::none, Epilogue::bf16));
  const int units = tile.m / 16 / grid.rows;
  const int columns = tile.n / 8 / grid.columns;
  return tile.k / 128 * (3 * units + columns + (columns + 1) / 2);
}

// A kernel without an MMA tells how fast fragments come only if it loads them: ptxas drops a load that nothing follows.
TEST(FeedCode, LoadsTheFragmentsThatTheMmaWouldTake) {
  for (std::size_t t = 0; t < kSm120Tiles.size(); ++t) {
    const Sm120Tile& tile = kSm120Tiles[t];
    int fewest = fragment_loads_of(tile, Consumers::cooperative);
    if (tile.pingpong) fewest = std::min(fewest, fragment_loads_of(tile, Consumers::pingpong));
    std::size_t kernels = 0;
    for (const CodeImage& image : images_of(t, "emulated")) {
      for (const KernelInfo& kernel : image.kernels) {
        if (kernel.symbol.find("FeedOnly") == std::string::npos) continue;
        ++kernels;
        EXPECT_GE(kernel.shared_memory_loads.value_or(0), fewest) << tile.m << 'x' << tile.n << 'x' << tile.k;
      }
    }
    EXPECT_EQ(kernels, tile.pingpong ? 2U : 1U);
  }
}

// What measures a rate has to do what it counts: eight MMAs a round, on operands that are in registers.
TEST(MeterCode, MultipliesInRegistersAsOftenAsItCounts) {
  const auto expect = [](const std::string& object, int fp4_mma, int half_mma) {
    std::size_t kernels = 0;
    for (const CodeImage& image : images_in(object)) {
      for (const KernelInfo& kernel : image.kernels) {
        ++kernels;
        EXPECT_EQ(kernel.fp4_mma.value_or(0), fp4_mma) << kernel.symbol;
        EXPECT_EQ(kernel.half_mma.value_or(0), half_mma) << kernel.symbol;
        EXPECT_EQ(kernel.local_memory_loads, 0) << kernel.symbol;
        EXPECT_EQ(kernel.shared_memory_loads.value_or(0), 0) << kernel.symbol;
      }
    }
    return kernels;
  };
  EXPECT_GE(expect("fp4_mma_meter.o", 8, 0), 1U) << "for SM12x";
  EXPECT_GE(expect("bf16_mma_meter.o", 0, 8), 2U) << "for SM90 and SM12x";
}

}  // namespace
}  // namespace tilewright
