// From a finished tile's accumulators to y, and the exchange of partial sums under stream-K.
//
// A thread has gate (rows g) and up (rows g + 8) of the same channel, or two plain channels. Up to 32 tokens at a time,
// the same number of each warp column, are transposed through the staging buffer in bf16. From there they leave as
// 16-byte stores, by rows or in tile order, or a thread quantizes 16 channels of a token to NVFP4.
#pragma once

#include <cstdint>

#include "cuda/grouped/epilogue_math.cuh"
#include "cuda/ptx/barrier.cuh"
#include "cuda/ptx/grid_control.cuh"
#include "cuda/ptx/matrix_store.cuh"
#include "cuda/sm120/bf16_tokens.cuh"
#include "cuda/sm120/gemm_shape.cuh"
#include "cuda/sm120/mainloop.cuh"
#include "cuda/sm120/quantize.cuh"

namespace tilewright::cuda::sm120 {

template <Schedule S, typename BlockMma>
class TileEpilogue {
  using Shape = GemmShape<S>;
  using Sums = typename Mainloop<S, BlockMma>::Sums;
  static constexpr bool kGated = gated(S.epilogue);
  static constexpr int kHalves = kGated ? 1 : 2;         ///< 8-channel halves of a unit that are stored
  static constexpr int kUnitChannels = 8 * kHalves;
  static constexpr int kRoundTokens = Shape::kStagedTokens / Shape::kGrid.columns;  ///< of a warp column
  static constexpr int kRoundColumns = kRoundTokens / kTokenUnitRows;
  static constexpr int kRounds = Shape::kColumns / kRoundColumns;
  static_assert(Shape::kColumns % kRoundColumns == 0);

 public:
  /// Finds out which thread this is, anew for each tile: what follows from it must not take registers in the mainloop.
  __device__ __forceinline__ TileEpilogue(const GemmParams& params, std::uint32_t shared) : params_(params) {
    int thread = 0;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    const int group = thread / Shape::kGroupThreads;
    thread_ = thread % Shape::kGroupThreads;
    barrier_ = 1 + group;
    staging_ = shared + Shape::layout(params).staging + group * Shape::kStagingBytes;
    warp_row_ = thread_ / 32 / Shape::kGrid.columns;
    warp_column_ = thread_ / 32 % Shape::kGrid.columns;
  }

  /// Rows of a block that the weights do not have were multiplied with what was left in the stage.
  __device__ __forceinline__ void clear_absent(const TileSlot& tile, Sums& sums) const {
    if (warp_row_ * Shape::kUnits / 8 < Shape::blocks_of(params_, tile.tile_m)) return;
#pragma unroll
    for (int i = 0; i < Shape::kUnits * Shape::kColumns * 4; ++i) {
      sums[i / 4 / Shape::kColumns][i / 4 % Shape::kColumns][i % 4] = 0.0F;
    }
  }

  /// This block's part of a tile that another block finishes.
  __device__ __forceinline__ void give_partial(const Sums& sums) const {
    auto* to = partial(static_cast<int>(blockIdx.x));
#pragma unroll
    for (int i = 0; i < Shape::kUnits * Shape::kColumns; ++i) {
      const float* four = sums[i / Shape::kColumns][i % Shape::kColumns];
      to[i * Shape::kGroupThreads] = make_float4(four[0], four[1], four[2], four[3]);
    }
    __threadfence();
    sync();
    if (thread_ == 0) ptx::store_release(params_.flags + blockIdx.x, 1);
  }

  /// Adds the parts of the blocks after this one, in their order.
  __device__ __forceinline__ void take_partials(int parts, Sums& sums) const {
    for (int part = 1; part <= parts; ++part) {
      const int block = static_cast<int>(blockIdx.x) + part;
      if (thread_ % 32 == 0) {
        while (ptx::load_acquire(params_.flags + block) == 0) __nanosleep(20);
      }
      sync();
      const auto* from = partial(block);
#pragma unroll
      for (int i = 0; i < Shape::kUnits * Shape::kColumns; ++i) {
        const float4 more = __ldcg(from + i * Shape::kGroupThreads);
        float* four = sums[i / Shape::kColumns][i % Shape::kColumns];
        four[0] += more.x;
        four[1] += more.y;
        four[2] += more.z;
        four[3] += more.w;
        if (i % 4 == 3) asm volatile("" ::: "memory");  // more loads in flight than these have no registers
      }
      // All have seen the flag and read the sums: the flag is free for the next launch.
      sync();
      if (thread_ == 0) params_.flags[block] = 0;
    }
  }

  __device__ __forceinline__ void store(const TileSlot& tile, const Sums& sums) const {
    const float lower = params_.row_scales[2 * tile.expert] * BlockMma::kUnbias;
    const float upper = params_.row_scales[2 * tile.expert + 1] * BlockMma::kUnbias;
    const int rows = Shape::kTileOrderOut ? (tile.rows + kRowGroup - 1) / kRowGroup * kRowGroup : tile.rows;
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
      if (round * kRoundTokens >= rows) break;
      stage(tile, round, lower, upper, sums);
      sync();
      if constexpr (stores_nvfp4(S.epilogue)) {
        quantize(tile, round, rows);
      } else if constexpr (Shape::kTileOrderOut) {
        arrange(tile, round, rows);
      } else {
        copy(tile, round, rows);
      }
      sync();
    }
  }

 private:
  __device__ void sync() const { ptx::named_barrier_sync(barrier_, Shape::kGroupThreads); }

  __device__ float4* partial(int block) const {
    return reinterpret_cast<float4*>(params_.partials + std::int64_t{block} * S.tile_m * S.tile_n) + thread_;
  }

  /// What the sums of a token are multiplied by besides the weights' scales.
  __device__ float token_factor(const TileSlot& tile, int token) const {
    const int row = tile.row_begin + min(token, tile.rows - 1);
    float factor = params_.x_scales == nullptr ? 1.0F : params_.x_scales[row];
    if constexpr (S.epilogue == Epilogue::finalize) factor *= params_.row_weights[row];
    return factor;
  }

  /// One 8 x 8 matrix, channels by tokens, as packed bf16: two tokens of a channel.
  __device__ __forceinline__ std::uint32_t values(const float (&four)[4], int half, float lower, float upper,
                                                  float factor0, float factor1) const {
    if constexpr (kGated) {
      return pack_bf16(gated_activation(params_.gated, four[0] * (lower * factor0), four[2] * (upper * factor0)),
                       gated_activation(params_.gated, four[1] * (lower * factor1), four[3] * (upper * factor1)));
    }
    const float scale = half == 0 ? lower : upper;
    const float first = four[2 * half] * (scale * factor0);
    const float second = four[2 * half + 1] * (scale * factor1);
    if constexpr (activates(S.epilogue)) return pack_bf16(relu2(first), relu2(second));
    return pack_bf16(first, second);
  }

  /// Matrix i of a round is half i % kHalves of unit i / kHalves % kUnits of column i / kHalves / kUnits; four are stored
  /// at a time, the last one again where they do not come out even.
  __device__ __forceinline__ void stage(const TileSlot& tile, int round, float lower, float upper,
                                        const Sums& sums) const {
    constexpr int kMatrices = kRoundColumns * Shape::kUnits * kHalves;
    const int lane = thread_ % 32;
    float factors[kRoundColumns][2];
#pragma unroll
    for (int column = 0; column < kRoundColumns; ++column) {
      const int token = first_token(round) + column * 8 + lane % 4 * 2;
      factors[column][0] = token_factor(tile, token);
      factors[column][1] = token_factor(tile, token + 1);
    }
#pragma unroll
    for (int first = 0; first < kMatrices; first += 4) {
      std::uint32_t matrices[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int matrix = first + i < kMatrices ? first + i : kMatrices - 1;
        const int column = matrix / kHalves / Shape::kUnits;
        matrices[i] = values(sums[matrix / kHalves % Shape::kUnits][round * kRoundColumns + column], matrix % kHalves,
                             lower, upper, factors[column][0], factors[column][1]);
      }
      const int mine = min(first + lane / 8, kMatrices - 1);
      const int staged = warp_column_ * kRoundTokens + mine / kHalves / Shape::kUnits * 8 + lane % 8;
      const int channel =
          (warp_row_ * Shape::kUnits + mine / kHalves % Shape::kUnits) * kUnitChannels + mine % kHalves * 8;
      ptx::store_matrices_transposed(staging_ + staged * Shape::kStagingPitch + channel * 2, matrices[0], matrices[1],
                                     matrices[2], matrices[3]);
    }
  }

  __device__ int first_token(int round) const { return warp_column_ * Shape::kColumns * 8 + round * kRoundTokens; }

  /// The token of the tile that is staged in row `staged`.
  __device__ static int token_of(int round, int staged) {
    return staged / kRoundTokens * Shape::kColumns * 8 + round * kRoundTokens + staged % kRoundTokens;
  }

  __device__ __forceinline__ uint4 staged_words(int staged, int channel) const {
    uint4 words;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
                 : "r"(staging_ + staged * Shape::kStagingPitch + channel * 2)
                 : "memory");
    return words;
  }

  __device__ __forceinline__ void copy(const TileSlot& tile, int round, int rows) const {
    constexpr int kChunks = Shape::kChannels / 8;
    const int channels = Shape::channels(params_);
#pragma unroll 1
    for (int item = thread_; item < Shape::kStagedTokens * kChunks; item += Shape::kGroupThreads) {
      const int token = token_of(round, item / kChunks);
      const int channel = tile.tile_m * Shape::kChannels + item % kChunks * 8;
      if (token >= rows || channel >= channels) continue;
      const std::int64_t row = params_.row_dest[tile.row_begin + token];
      *reinterpret_cast<uint4*>(static_cast<std::uint8_t*>(params_.y) + (row * params_.y_stride + channel) * 2) =
          staged_words(item / kChunks, item % kChunks * 8);
    }
  }

  /// Channels past the end become zeros up to the end of a slab, and so do the rows after an expert's last.
  __device__ __forceinline__ void quantize(const TileSlot& tile, int round, int rows) const {
    constexpr int kBlocks = Shape::kChannels / kBlock;
    const float quant_multiplier = params_.quant_multipliers[tile.expert];
    const int channels = Shape::channels(params_);
    const int end = (channels + kSlabK - 1) / kSlabK * kSlabK;
#pragma unroll 1
    for (int item = thread_; item < Shape::kStagedTokens * kBlocks; item += Shape::kGroupThreads) {
      const int token = token_of(round, item / kBlocks);
      const int channel = tile.tile_m * Shape::kChannels + item % kBlocks * kBlock;
      if (token >= rows || channel >= end) continue;
      QuantizedBlock block{0, 0, 0};
      if (token < tile.rows && channel < channels) {
        const uint4 halves[2] = {staged_words(item / kBlocks, item % kBlocks * kBlock),
                                 staged_words(item / kBlocks, item % kBlocks * kBlock + 8)};
        float x[kBlock];
#pragma unroll
        for (int i = 0; i < kBlock / 2; ++i) {
          const std::uint32_t pair = reinterpret_cast<const std::uint32_t*>(halves)[i];
          x[2 * i] = __uint_as_float(pair << 16U);
          x[2 * i + 1] = __uint_as_float(pair & 0xFFFF0000U);
        }
        block = quantize_block(x, quant_multiplier);
      }
      store_block(static_cast<std::uint8_t*>(params_.y),
                  token_place(tile.row_begin + token, channel / kBlock, params_.group_rows), block);
    }
  }

  /// The same in bf16: a thread has 8 channels of a token, and the 8 that are 32 higher.
  __device__ __forceinline__ void arrange(const TileSlot& tile, int round, int rows) const {
    constexpr int kChunks = Shape::kChannels / (2 * kChunkK);
    const int channels = Shape::channels(params_);
    const int end = (channels + kSlabK - 1) / kSlabK * kSlabK;
#pragma unroll 1
    for (int item = thread_; item < Shape::kStagedTokens * kChunks; item += Shape::kGroupThreads) {
      const int staged = item / kChunks;
      const int low = item % kChunks / 4 * kStepK + item % 4 * kChunkK;  // of the tile's channels
      const int token = token_of(round, staged);
      const int channel = tile.tile_m * Shape::kChannels + low;
      if (token >= rows || channel >= end) continue;
      uint4 halves[2] = {make_uint4(0, 0, 0, 0), make_uint4(0, 0, 0, 0)};
      if (token < tile.rows && channel < channels) halves[0] = staged_words(staged, low);
      if (token < tile.rows && channel + kStepK / 2 < channels) halves[1] = staged_words(staged, low + kStepK / 2);
      const std::int64_t place =
          bf16_token_place(tile.row_begin + token, channel / kStepK, item % 4, params_.group_rows);
      store_chunks(static_cast<std::uint8_t*>(params_.y), place, halves[0], halves[1]);
    }
  }

  const GemmParams& params_;
  std::uint32_t staging_ = 0;
  int barrier_ = 0;
  int warp_row_ = 0;
  int warp_column_ = 0;
  int thread_ = 0;  ///< of the group
};

}  // namespace tilewright::cuda::sm120
