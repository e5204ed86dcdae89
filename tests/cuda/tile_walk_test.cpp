#include "cuda/grouped/tile_walk.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <vector>

namespace tilewright::cuda::sm90 {
namespace {

TEST(TileWalk, CutsRowsIntoTheFewestTilesOfNearlyOneSize) {
  EXPECT_EQ(token_tiles(0, 256, 16).count, 0);
  EXPECT_EQ(token_tiles(1, 8, 8).tokens, 8);
  const TokenTiles split = token_tiles(257, 256, 16);
  EXPECT_EQ(split.count, 2);
  EXPECT_EQ(split.tokens, 144);
}

TEST(TileWalk, LeavesNoTokenTileEmptyAndNoneLargerThanTheTile) {
  EXPECT_TRUE(rc::check("every tile has rows and all rows have a tile", [] {
    const int tile_n = *rc::gen::element(8, 16, 24, 40, 48, 64, 128, 240);
    const int granule = tile_n >= 128 ? 16 : 8;
    const int rows = *rc::gen::inRange(1, 20000);
    const TokenTiles split = token_tiles(rows, tile_n, granule);
    RC_ASSERT(split.tokens <= tile_n && split.tokens % granule == 0);
    RC_ASSERT(split.count == (rows + tile_n - 1) / tile_n);
    RC_ASSERT((split.count - 1) * split.tokens < rows && split.count * split.tokens >= rows);
  }));
}

TEST(TileWalk, DealsEveryUnitOnceAndEqually) {
  EXPECT_TRUE(rc::check("ranges follow each other", [] {
    const int units = *rc::gen::inRange(1, 100000);
    const int blocks = *rc::gen::inRange(1, 300);
    int next = 0;
    for (int block = 0; block < blocks; ++block) {
      const UnitRange range = unit_range(units, blocks, block);
      if (block >= busy_blocks(units, blocks)) {
        RC_ASSERT(range.begin == range.end);
        continue;
      }
      RC_ASSERT(range.begin == next);
      const int size = range.end - range.begin;
      RC_ASSERT(size >= 1 && size <= units / busy_blocks(units, blocks) + 1);
      next = range.end;
    }
    RC_ASSERT(next == units);
  }));
}

TEST(TileWalk, CountsTheBlocksThatHoldTheRestOfATile) {
  EXPECT_TRUE(rc::check("as a search over all blocks counts them", [] {
    const int k_blocks = *rc::gen::inRange(1, 40);
    const int tiles = *rc::gen::inRange(1, 200);
    const int blocks = *rc::gen::inRange(1, 300);
    const int units = tiles * k_blocks;
    for (int block = 0; block < busy_blocks(units, blocks); ++block) {
      const UnitRange range = unit_range(units, blocks, block);
      const int tile_end = (range.end - 1) / k_blocks * k_blocks + k_blocks;
      int after = 0;
      for (int other = block + 1; other < busy_blocks(units, blocks); ++other) {
        if (unit_range(units, blocks, other).begin < tile_end) ++after;
      }
      RC_ASSERT(blocks_after(units, blocks, block, tile_end) == after);
    }
  }));
}

TEST(TileWalk, CountsUnitsPastThirtyTwoBitsOfProducts) {
  constexpr int kUnits = 2000000000;
  EXPECT_EQ(unit_range(kUnits, 132, 131).end, kUnits);
  EXPECT_EQ(blocks_after(kUnits, 132, 0, kUnits), 131);
}

}  // namespace
}  // namespace tilewright::cuda::sm90
