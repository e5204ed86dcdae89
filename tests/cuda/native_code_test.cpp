// The machine code of SM120's native kernels, read out of their object files: what runs on a card that is not here.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tilewright/binary_images.hpp"
#include "tilewright/sm120_catalogue.hpp"

namespace tilewright {
namespace {

/// Machine code of SM12x in the object of one tile; ends the test where there is none.
std::vector<CodeImage> images_of(std::size_t tile) {
  const std::string path = std::string(TILEWRIGHT_PTXAS_REPORTS) + "/sm120_native_" + std::to_string(tile) + ".o";
  auto report = read_binary(path);
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

/// MMAs of a warp for one k-block: 16 x 8 x 64 each. The loop over k-blocks is not unrolled, all within one is.
int mmas_of(const Sm120Tile& tile, Consumers consumers) {
  const Schedule s = sm120_schedule(tile, consumers, 2, SplitKind::none, Epilogue::bf16);
  const int warps = s.roles.consumer_warps / (consumers == Consumers::pingpong ? 2 : 1);
  return tile.m / 16 * (tile.n / 8) * (tile.k / 64) / warps;
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

}  // namespace
}  // namespace tilewright
