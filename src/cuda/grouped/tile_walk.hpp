// Which block of a persistent grid computes what: one rule, for the kernels and for their host twin in the tests.
//
// An expert's rows are cut into the fewest token tiles, all of nearly the same size (a multiple of the granule), so
// that 257 rows are 2 tiles of 136 and 121 and not 256 and 1. Tiles are numbered by expert, then weight tile, then
// token tile: the token tiles of one weight tile are neighbours, and run at the same time, so that its weights come
// from DRAM once. Blocks take tiles in turn, or (stream-K) each block takes an equal run of all k-blocks: then a tile
// may span several blocks, of which the one that has its first k-block adds up the parts, in the order of the blocks.
#pragma once

#include <cstdint>

namespace tilewright::cuda {

struct TokenTiles {
  int count = 0;
  int tokens = 0;  ///< of each; the last may have fewer rows
};

/// Token tiles of an expert with `rows` rows.
constexpr TokenTiles token_tiles(int rows, int tile_n, int granule) {
  if (rows <= 0) return {};
  const int count = (rows + tile_n - 1) / tile_n;
  const int share = (rows + count - 1) / count;
  return {count, (share + granule - 1) / granule * granule};
}

/// k-blocks [begin, end) of all tiles' that a block computes under stream-K.
struct UnitRange {
  int begin = 0;
  int end = 0;
};

/// Tiles and k-blocks are counted in 32 bits; launches with more are refused.
inline constexpr std::int64_t kMostUnits = 0x7FFFFFFF;

/// Blocks that get work: no more than there are k-blocks, so that each has at least one.
constexpr int busy_blocks(int units, int blocks) { return units < blocks ? units : blocks; }

/// The start of block `block`'s run.
constexpr int unit_begin(int units, int busy, int block) {
  return static_cast<int>(std::int64_t{units} * block / busy);
}

constexpr UnitRange unit_range(int units, int blocks, int block) {
  const int busy = busy_blocks(units, blocks);
  if (block >= busy) return {};
  return {unit_begin(units, busy, block), unit_begin(units, busy, block + 1)};
}

/// How many blocks after `block` have a part of the tile that ends before unit `tile_end`.
constexpr int blocks_after(int units, int blocks, int block, int tile_end) {
  const std::int64_t busy = busy_blocks(units, blocks);
  const std::int64_t last = (tile_end * busy - 1) / units;  // the last block that begins before tile_end
  return static_cast<int>(last) - block;
}

}  // namespace tilewright::cuda
