// A consumer warpgroup's mainloop: 64 weight rows times the tile's tokens over a run of k-blocks.
//
// Fragments live in two register sets. Batch b + 1 (kBatchSteps wgmma steps) is decoded into one while the wgmmas of
// batch b read the other: fence, wgmmas, commit, then wait for the batch before. A stage goes back to the producer one
// batch late, when the last wgmma that reads its tokens is done.
#pragma once

#include <cstdint>

#include "cuda/ptx/barrier.cuh"
#include "cuda/ptx/wgmma.cuh"
#include "cuda/sm90/fragment_decode.cuh"
#include "cuda/sm90/gemm_shape.cuh"

namespace tilewright::cuda::sm90 {

/// Shared-memory addresses of one thread, and the constant that decoding keeps in a register.
struct ConsumerAddresses {
  std::uint32_t codes = 0;   ///< in stage 0, slab 0
  std::uint32_t scales = 0;  ///< likewise
  std::uint32_t tokens = 0;  ///< in stage 0, slab 0
  std::uint32_t full = 0;    ///< barriers of stage 0
  std::uint32_t empty = 0;
  std::uint32_t scale_exponent = 0;
};

/// Gives a stage back. One lane arrives for its warp: the others' reads must stand before it.
__device__ __forceinline__ void let_go(const ConsumerAddresses& at, int stage, bool arrives) {
  __syncwarp();
  if (arrives) ptx::barrier_arrive(at.empty + stage * kBarrierBytes);
}

template <Schedule S, int N>
class Mainloop {
  using Shape = GemmShape<S>;
  // Four warpgroups take turns on the tensor cores: one step of a wide tile is work enough, and all that there are
  // registers for.
  static constexpr int kBatchSteps = N <= 64 && S.tile_n <= 64 ? 4 : Shape::kWarpgroups > 2 ? 1 : 2;
  static constexpr int kBatches = Shape::kStageSlabs * kSlabSteps / kBatchSteps;
  static_assert(kBatches % 2 == 0, "a stage ends in the register set in which the next does not begin");

 public:
  /// Adds k-blocks [k_begin, k_end) to acc. `slabs` are those of all of K. Calls `before_last_wait` while the last
  /// wgmmas are in flight, and leaves none.
  template <typename Callable>
  __device__ __forceinline__ static void run(const ConsumerAddresses& at, RingPlace<S.stages>& stage, int k_begin,
                                             int k_end, int slabs, bool arrives, float (&acc)[S.tile_n / 2],
                                             const Callable& before_last_wait) {
    const int whole = min(k_end, slabs / Shape::kStageSlabs);
    std::uint32_t fragments[2][kBatchSteps * 4];
    int previous = -1;
#pragma unroll 1
    for (int k_block = k_begin; k_block < whole; ++k_block) {
      ptx::barrier_wait(at.full + stage.index * kBarrierBytes, stage.parity);
      multiply_stage(at, stage.index, previous, arrives, fragments, acc);
      previous = stage.index;
      stage.advance();
    }
    before_last_wait();
    ptx::wgmma_wait<0>();
    if (previous >= 0) let_go(at, previous, arrives);
    if constexpr (Shape::kStageSlabs > 1) {
      if (whole < k_end) multiply_rest(at, stage, slabs % Shape::kStageSlabs, arrives, fragments[0], acc);
    }
  }

 private:
  /// The batch that begins with step `step` of a slab; constant once loops are unrolled.
  __device__ __forceinline__ static void decode_batch(const SlabWords& words, std::uint32_t exponent, int step,
                                                      std::uint32_t* fragments) {
    if (step == 0) return decode_steps<0, kBatchSteps>(words, exponent, fragments);
    if constexpr (kBatchSteps == 2) decode_steps<2, 2>(words, exponent, fragments);
    if constexpr (kBatchSteps == 1) {
      if (step == 1) decode_step<1>(words, exponent, fragments);
      if (step == 2) decode_step<2>(words, exponent, fragments);
      if (step == 3) decode_step<3>(words, exponent, fragments);
    }
  }

  // `tokens` is a descriptor; 64-bit additions to it are one instruction on uniform registers.
  __device__ __forceinline__ static void multiply_batch(std::uint64_t tokens, const std::uint32_t* fragments,
                                                        float (&acc)[S.tile_n / 2]) {
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < kBatchSteps; ++step) {
      ptx::Wgmma<N>::run(acc, fragments + 4 * step, tokens + step * (kStepK * 2 / 16));
    }
    ptx::wgmma_commit();
  }

  __device__ __forceinline__ static void multiply_stage(const ConsumerAddresses& at, int stage, int previous,
                                                        bool arrives, std::uint32_t (&fragments)[2][kBatchSteps * 4],
                                                        float (&acc)[S.tile_n / 2]) {
    const std::uint32_t offset = stage * Shape::kStageBytes;
    // The same in all lanes; the shuffle tells the compiler, which then keeps descriptors in uniform registers.
    const std::uint64_t tokens = ptx::swizzled_descriptor(__shfl_sync(0xFFFFFFFFU, at.tokens + offset, 0));
    SlabWords words = load_slab(at.codes + offset, at.scales + offset);
#pragma unroll
    for (int batch = 0; batch < kBatches; ++batch) {
      const int slab = batch * kBatchSteps / kSlabSteps;
      const int step = batch * kBatchSteps % kSlabSteps;
      const bool last_of_slab = step + kBatchSteps == kSlabSteps;
      decode_batch(words, at.scale_exponent, step, fragments[batch % 2]);
      // Words that are used up are replaced while this batch multiplies.
      if (last_of_slab && batch + 1 < kBatches) {
        words = load_slab(at.codes + offset + (slab + 1) * kSlabBytes, at.scales + offset + (slab + 1) * kSlabBytes);
      }
      multiply_batch(tokens + slab * (Shape::kTokenSlabBytes / 16) + step * (kStepK * 2 / 16), fragments[batch % 2],
                     acc);
      ptx::wgmma_wait<1>();
      if (batch == 0 && previous >= 0) let_go(at, previous, arrives);
    }
  }

  // The last k-block where K does not fill it: slab by slab, without overlap.
  __device__ __forceinline__ static void multiply_rest(const ConsumerAddresses& at, RingPlace<S.stages>& stage,
                                                       int slabs, bool arrives, std::uint32_t* fragments,
                                                       float (&acc)[S.tile_n / 2]) {
    ptx::barrier_wait(at.full + stage.index * kBarrierBytes, stage.parity);
    const std::uint32_t offset = stage.index * Shape::kStageBytes;
#pragma unroll 1
    for (int slab = 0; slab < slabs; ++slab) {
      const SlabWords words = load_slab(at.codes + offset + slab * kSlabBytes, at.scales + offset + slab * kSlabBytes);
      const std::uint64_t tokens = ptx::swizzled_descriptor(at.tokens + offset + slab * Shape::kTokenSlabBytes);
#pragma unroll
      for (int step = 0; step < kSlabSteps; step += kBatchSteps) {
        decode_batch(words, at.scale_exponent, step, fragments);
        multiply_batch(tokens + step * (kStepK * 2 / 16), fragments, acc);
        ptx::wgmma_wait<0>();
      }
    }
    let_go(at, stage.index, arrives);
    stage.advance();
  }
};

/// Lets go of the k-blocks of a tile whose 64-row block this warpgroup does not have (N is padded to 64, not to
/// tile_m).
template <Schedule S>
__device__ __forceinline__ void skip_blocks(const ConsumerAddresses& at, RingPlace<S.stages>& stage, int blocks,
                                            bool arrives) {
  for (int block = 0; block < blocks; ++block) {
    ptx::barrier_wait(at.full + stage.index * kBarrierBytes, stage.parity);
    let_go(at, stage.index, arrives);
    stage.advance();
  }
}

}  // namespace tilewright::cuda::sm90
