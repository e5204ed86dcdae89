// The tile walk on the device, by one warp: which parts of which tiles this block computes (rule: tile_walk.hpp).
#pragma once

#include <cstdint>

#include "cuda/grouped/row_range.hpp"
#include "cuda/grouped/tile_walk.hpp"

namespace tilewright::cuda {

/// k-blocks [k_begin, k_end) of one tile.
struct TilePart {
  int expert = -1;  ///< -1: no more work
  int tile_m = 0;
  int row_begin = 0;  ///< of the grouped rows
  int rows = 0;
  int parts_after = 0;  ///< blocks after this one that hold the rest of the tile; of the part with k-block 0
  int k_begin = 0;
  int k_end = 0;
};

/// Holds the tile counts of up to 1,024 experts spread over the lanes of a warp: a lane has the sum of a run of
/// experts, and a look-up scans the one run that has the tile.
/// What follows from the parameters is worked out where it is needed: registers are scarcer here than time.
/// A Shape has kTileN, kGranule, and tiles_m, k_blocks and stream_k of the parameters; Params has experts and row_ranges.
template <typename Shape, typename Params>
class TileWalker {
 public:
  __device__ explicit TileWalker(const Params& params) : params_(params) {
    int tiles = 0;
#pragma unroll 1
    for (int i = 0; i < run(); ++i) tiles += tiles_of(lane() * run() + i);
    run_start_ = inclusive_sum(tiles) - tiles;
    const int total = __shfl_sync(kAll, run_start_ + tiles, 31);
    if (Shape::stream_k(params_)) {
      const int k_blocks = Shape::k_blocks(params);
      units_ = total * k_blocks;
      const UnitRange range = unit_range(units_, static_cast<int>(gridDim.x), static_cast<int>(blockIdx.x));
      next_ = range.begin;
      end_ = range.end;
    } else {
      next_ = static_cast<int>(blockIdx.x);
      end_ = total;
    }
  }

  __device__ TilePart next() {
    if (next_ >= end_) return {};
    TilePart part;
    const int k_blocks = Shape::k_blocks(params_);
    if (Shape::stream_k(params_)) {
      const int tile = next_ / k_blocks;
      part = find(tile);
      const int tile_begin = tile * k_blocks;
      part.k_begin = next_ - tile_begin;
      part.k_end = min(end_ - tile_begin, k_blocks);
      if (part.k_begin == 0 && part.k_end < k_blocks) {
        part.parts_after =
            blocks_after(units_, static_cast<int>(gridDim.x), static_cast<int>(blockIdx.x), tile_begin + k_blocks);
      }
      next_ = tile_begin + part.k_end;
    } else {
      part = find(next_);
      part.k_end = k_blocks;
      next_ += static_cast<int>(gridDim.x);
    }
    return part;
  }

 private:
  static constexpr unsigned kAll = 0xFFFFFFFFU;

  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }

  /// Experts of a lane.
  __device__ int run() const { return (params_.experts + 31) / 32; }

  // No read-only load: the compiler may move one above the wait for the kernel that writes the ranges.
  __device__ RowRange range_of(int expert) const {
    const int2 range = reinterpret_cast<const int2*>(params_.row_ranges)[expert];
    return {range.x, range.y};
  }

  __device__ int tiles_of(int expert) const {
    if (expert >= params_.experts) return 0;
    return token_tiles(range_of(expert).rows, Shape::kTileN, Shape::kGranule).count * Shape::tiles_m(params_);
  }

  __device__ int inclusive_sum(int value) const {
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const int below = __shfl_up_sync(kAll, value, step);
      if (lane() >= step) value += below;
    }
    return value;
  }

  __device__ TilePart find(int tile) const {
    const int owner = __popc(__ballot_sync(kAll, run_start_ <= tile)) - 1;
    const int before = __shfl_sync(kAll, run_start_, owner);
    const int expert = owner * run() + lane();
    const int tiles = lane() < run() ? tiles_of(expert) : 0;
    const int start = before + inclusive_sum(tiles) - tiles;
    const int found = __popc(__ballot_sync(kAll, lane() < run() && start <= tile)) - 1;
    const int within = tile - __shfl_sync(kAll, start, found);
    TilePart part;
    part.expert = owner * run() + found;
    const RowRange range = range_of(part.expert);
    const TokenTiles split = token_tiles(range.rows, Shape::kTileN, Shape::kGranule);
    const int tile_n = within % split.count;
    part.tile_m = within / split.count;
    part.row_begin = range.begin + tile_n * split.tokens;
    part.rows = min(split.tokens, range.rows - tile_n * split.tokens);
    return part;
  }

  const Params& params_;
  int run_start_ = 0;
  int units_ = 0;
  int next_ = 0;
  int end_ = 0;
};

}  // namespace tilewright::cuda
