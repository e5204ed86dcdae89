// From a finished tile's accumulators to rows of y, and the exchange of partial sums under stream-K.
//
// A thread has gate (rows g) and up (rows g + 8) of the same channel, or two plain channels. 32 tokens at a time are
// transposed through the staging buffer, of which each warpgroup uses its own columns, and leave as 16-byte stores.
#pragma once

#include <cstdint>

#include "cuda/grouped/epilogue_math.cuh"
#include "cuda/ptx/barrier.cuh"
#include "cuda/ptx/grid_control.cuh"
#include "cuda/ptx/matrix_store.cuh"
#include "cuda/sm90/gemm_params.hpp"
#include "cuda/sm90/gemm_shape.cuh"

namespace tilewright::cuda::sm90 {

template <Schedule S>
class TileEpilogue {
  using Shape = GemmShape<S>;
  static constexpr bool kFinalize = S.epilogue == Epilogue::finalize;
  static constexpr unsigned kAll = 0xFFFFFFFFU;

 public:
  __device__ TileEpilogue(const GemmParams& params, std::uint32_t shared)
      : params_(params), staging_(shared + Shape::kStaging) {}

  /// Finds out which thread this is, anew for each tile: what follows from it must not take registers in the mainloop.
  __device__ __forceinline__ void locate() {
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread_));
    warpgroup_ = thread_ / 128;
    thread_ %= 128;
  }

  /// Reads what the first rows' store needs early. `slot` is the tile's place in shared memory, and is read out once
  /// this returns: until then the tile takes no registers.
  __device__ __forceinline__ void prepare(std::uint32_t slot) {
    locate();
    tile_ = TileSlot::read(slot);
    lower_ = params_.row_scales[2 * tile_.expert];
    upper_ = params_.row_scales[2 * tile_.expert + 1];
    fetch_rows<0>();
  }

  /// For a warpgroup without weight rows: it takes part in barriers, and stores the zeros between N and the end of a
  /// slab.
  __device__ __forceinline__ void prepare_zeros(std::uint32_t slot) {
    locate();
    tile_ = TileSlot::read(slot);
    lower_ = 0.0F;
    upper_ = 0.0F;
  }

  [[nodiscard]] __device__ const TileSlot& tile() const { return tile_; }

  /// This block's part of a tile that another block finishes.
  __device__ __forceinline__ void give_partial(const float (&acc)[S.tile_n / 2]) {
    auto* to = partial(static_cast<int>(blockIdx.x));
#pragma unroll
    for (int j = 0; j < S.tile_n / 8; ++j) {
      to[j * 128] = make_float4(acc[4 * j], acc[4 * j + 1], acc[4 * j + 2], acc[4 * j + 3]);
    }
    __threadfence();
    ptx::named_barrier_sync(kBlockBarrier, Shape::kConsumerThreads);
    if (warpgroup_ == 0 && thread_ == 0) ptx::store_release(params_.flags + blockIdx.x, 1);
  }

  /// Adds the parts of the blocks after this one, in their order.
  __device__ __forceinline__ void take_partials(int parts, float (&acc)[S.tile_n / 2]) {
    for (int part = 1; part <= parts; ++part) {
      const int block = static_cast<int>(blockIdx.x) + part;
      if (thread_ == 0) {
        while (ptx::load_acquire(params_.flags + block) == 0) __nanosleep(20);
      }
      ptx::named_barrier_sync(kBlockBarrier, Shape::kConsumerThreads);
      const auto* from = partial(block);
#pragma unroll
      for (int j = 0; j < S.tile_n / 8; ++j) {
        const float4 sum = __ldcg(from + j * 128);
        acc[4 * j] += sum.x;
        acc[4 * j + 1] += sum.y;
        acc[4 * j + 2] += sum.z;
        acc[4 * j + 3] += sum.w;
      }
      // All have seen the flag and read the sums: the flag is free for the next launch.
      ptx::named_barrier_sync(kBlockBarrier, Shape::kConsumerThreads);
      if (warpgroup_ == 0 && thread_ == 0) params_.flags[block] = 0;
    }
  }

  __device__ __forceinline__ void store(const float (&acc)[S.tile_n / 2]) { store_groups<0>(acc); }

 private:
  static constexpr int kBlockBarrier = 1;
  static constexpr int kGroupBarrier = 2;

  __device__ float4* partial(int block) const {
    return reinterpret_cast<float4*>(params_.partials + block * kPartialFloats<S>) + warpgroup_ * (S.tile_n / 8) * 128 +
           thread_;
  }

  // Lane l's row of a group of 32: where it goes and its weight. The next group's are fetched while one is stored.
  template <int kGroup>
  __device__ __forceinline__ void fetch_rows() {
    if constexpr (Shape::kTileOrderOut) return;
    const int row = min(kGroup * kStagingTokens + thread_ % 32, tile_.rows - 1) + tile_.row_begin;
    dest_[kGroup % 2] = params_.row_dest[row];
    if constexpr (kFinalize) weight_[kGroup % 2] = params_.row_weights[row];
  }

  template <int kGroup>
  __device__ __forceinline__ void store_groups(const float (&acc)[S.tile_n / 2]) {
    constexpr bool kLast = (kGroup + 1) * kStagingTokens >= S.tile_n;
    if (kGroup * kStagingTokens >= tile_.rows) return;
    if constexpr (!kLast) fetch_rows<kGroup + 1>();
    stage_group<kGroup>(acc);
    ptx::named_barrier_sync(kGroupBarrier + warpgroup_, 128);
    copy_group(kGroup, dest_[kGroup % 2]);
    ptx::named_barrier_sync(kGroupBarrier + warpgroup_, 128);
    if constexpr (!kLast) store_groups<kGroup + 1>(acc);
  }

  // Two tokens of one channel, or of two channels 8 apart, as packed bf16.
  __device__ __forceinline__ void values(const float* a, float weight0, float weight1, std::uint32_t& first,
                                         std::uint32_t& second) {
    if constexpr (gated(S.epilogue)) {
      first = pack_bf16(gated_activation(params_.gated, a[0] * lower_, a[2] * upper_),
                        gated_activation(params_.gated, a[1] * lower_, a[3] * upper_));
    } else if constexpr (S.epilogue == Epilogue::act_bf16) {
      first = pack_bf16(relu2(a[0] * lower_), relu2(a[1] * lower_));
      second = pack_bf16(relu2(a[2] * upper_), relu2(a[3] * upper_));
    } else {
      first = pack_bf16(a[0] * lower_ * weight0, a[1] * lower_ * weight1);
      second = pack_bf16(a[2] * upper_ * weight0, a[3] * upper_ * weight1);
    }
  }

  template <int kGroup>
  __device__ __forceinline__ void stage_group(const float (&acc)[S.tile_n / 2]) {
    constexpr int kBlocks = S.tile_n / 8;
    constexpr int kHere = kBlocks - 4 * kGroup < 4 ? kBlocks - 4 * kGroup : 4;  // 8-token blocks of this group
    const int lane = thread_ % 32;
    std::uint32_t first[4];
    std::uint32_t second[4] = {};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int block = 4 * kGroup + (i < kHere ? i : kHere - 1);
      float weight0 = 1.0F;
      float weight1 = 1.0F;
      if constexpr (kFinalize) {
        const int token = 8 * (block % 4) + 2 * (lane % 4);
        weight0 = __shfl_sync(kAll, weight_[kGroup % 2], token);
        weight1 = __shfl_sync(kAll, weight_[kGroup % 2], token + 1);
      }
      values(acc + 4 * block, weight0, weight1, first[i], second[i]);
    }
    const int token = 8 * min(lane / 8, kHere - 1) + lane % 8;
    const int channel = warpgroup_ * Shape::kGroupChannels + thread_ / 32 * (Shape::kGroupChannels / 4);
    const std::uint32_t to = staging_ + token * Shape::kStagingPitch + channel * 2;
    ptx::store_matrices_transposed(to, first[0], first[1], first[2], first[3]);
    if constexpr (!gated(S.epilogue)) {
      ptx::store_matrices_transposed(to + 16, second[0], second[1], second[2], second[3]);
    }
  }

  __device__ __forceinline__ void copy_group(int group, int dest) {
    constexpr int kChunks = Shape::kGroupChannels / 8;
    int channels = gated(S.epilogue) ? params_.weight_rows / 2 : params_.weight_rows;
    int rows = tile_.rows;
    if constexpr (Shape::kTileOrderOut) {  // padding too: GEMM2 multiplies it, by zeros or into columns of no row
      channels = (channels + kSlabK - 1) / kSlabK * kSlabK;
      rows = (rows + kRowGroup - 1) / kRowGroup * kRowGroup;
    }
    rows = min(kStagingTokens, rows - group * kStagingTokens);
    const int first_channel = tile_.tile_m * Shape::kChannels + warpgroup_ * Shape::kGroupChannels;
#pragma unroll
    for (int round = 0; round < kStagingTokens * kChunks / 128; ++round) {
      const int item = round * 128 + thread_;
      const int token = item / kChunks;
      const int chunk = item % kChunks;
      const int channel = first_channel + chunk * 8;
      std::uint8_t* to = nullptr;
      if constexpr (Shape::kTileOrderOut) {
        const int row = tile_.row_begin + group * kStagingTokens + token;
        to = static_cast<std::uint8_t*>(params_.y) + (channel / kSlabK * params_.group_rows + row) * 128 +
             ((channel % kSlabK / 8 ^ row % kRowGroup) << 4);
      } else {
        const std::int64_t row = __shfl_sync(kAll, dest, token % 32);
        to = static_cast<std::uint8_t*>(params_.y) + (row * params_.y_stride + channel) * 2;
      }
      if (token >= rows || channel >= channels) continue;
      uint4 words;
      asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
                   : "r"(staging_ + token * Shape::kStagingPitch + (warpgroup_ * Shape::kGroupChannels + chunk * 8) * 2)
                   : "memory");
      *reinterpret_cast<uint4*>(to) = words;
    }
  }

  const GemmParams& params_;
  std::uint32_t staging_;
  TileSlot tile_;
  int warpgroup_ = 0;
  int thread_ = 0;  ///< of the warpgroup
  float lower_ = 0.0F;
  float upper_ = 0.0F;
  int dest_[2];
  float weight_[2];
};

}  // namespace tilewright::cuda::sm90
