// Activations to NVFP4 in SM120's tile order (contract: moe_kernels.hpp).
//
// Four threads share a row's slab of 128 k, as four lanes share it in a token fragment (sm120/fragment_order.hpp):
// thread t has k 8t .. 8t+7 of each 32. Two neighbours have a block of 16, and tell each other their largest magnitude.
// A thread's codes are then 16 bytes that lie together, a row's 64, and a row's eight scales two words.
#include <cstdint>

#include "cuda/launch.cuh"
#include "cuda/moe/row_items.cuh"
#include "cuda/ptx/grid_control.cuh"
#include "cuda/sm120/fragment_order.hpp"
#include "cuda/sm120/quantize.cuh"

namespace tilewright::cuda {
namespace {

using sm120::kSlabK;
using sm120::kTokenUnitBytes;
using sm120::kTokenUnitCodeBytes;
using sm120::kTokenUnitRows;

constexpr unsigned kAll = 0xFFFFFFFFU;
constexpr int kThreads = 128;
constexpr int kSlabThreads = 4;
constexpr int kSlabsAtOnce = kThreads / kSlabThreads;
constexpr int kChunks = kSlabK / kChunk / kSlabThreads;

/// A thread's part of a row's slab as NVFP4: codes of its four chunks, and scales of the whole slab.
struct QuantizedPart {
  uint4 codes;
  uint2 scales;
};

__device__ int slabs_of_row(const QuantizeParams& p) { return (p.columns + kSlabK - 1) / kSlabK; }

/// Eight values of an item from column `column` on.
__device__ void load_values(const QuantizeParams& p, int item, int column, float weight, float (&x)[kChunk]) {
  const uint4 words = load_chunk(p, item, column, weight);
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&words);
#pragma unroll
  for (int i = 0; i < kChunk / 2; ++i) {
    const float2 pair = __bfloat1622float2(pairs[i]);
    x[2 * i] = pair.x;
    x[2 * i + 1] = pair.y;
  }
}

/// The largest of all threads' values; NaN does not take part.
__device__ float block_largest(float mine) {
  __shared__ float of_warp[kThreads / 32];
  for (int distance = 16; distance > 0; distance /= 2) {
    mine = fmaxf(mine, __shfl_xor_sync(kAll, mine, distance));
  }
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
  __syncthreads();
  float largest = of_warp[0];
#pragma unroll
  for (int warp = 1; warp < kThreads / 32; ++warp) largest = fmaxf(largest, of_warp[warp]);
  return largest;
}

/// The input scale of a row that has none: row_input_scale of numerics/input_scales.hpp.
__device__ float row_scale(const QuantizeParams& p, int item, float weight) {
  constexpr float kSmallestNormal = 1.175494351e-38F;
  float largest = 0.0F;
  for (int column = static_cast<int>(threadIdx.x) * kChunk; column < p.columns; column += kThreads * kChunk) {
    float x[kChunk];
    load_values(p, item, column, weight, x);
    largest = fmaxf(largest, sm120::largest_magnitude(x));
  }
  const float scale = __fdiv_rn(block_largest(largest), kNvfp4Max);
  return scale >= kSmallestNormal ? scale : 1.0F;
}

__device__ QuantizedPart quantize_part(const QuantizeParams& p, int item, int slab, float weight,
                                       float quant_multiplier) {
  const int t = static_cast<int>(threadIdx.x) % kSlabThreads;
  std::uint32_t codes[kChunks];
  std::uint32_t scales[kChunks];
#pragma unroll
  for (int i = 0; i < kChunks; ++i) {
    float x[kChunk];
    load_values(p, item, slab * kSlabK + i * 32 + t * kChunk, weight, x);
    const float mine = sm120::largest_magnitude(x);
    const float largest = fmaxf(mine, __shfl_xor_sync(kAll, mine, 1));
    const sm120::DeviceBlockScale scale = sm120::scale_block(largest, quant_multiplier);
    codes[i] = sm120::encode_eight(x, scale.code_multiplier);
    scales[i] = scale.scale;
  }
  // Threads 0 and 2 have the even and the odd blocks' scales; block i of a step is byte i of the step's word.
  std::uint32_t words[2];
#pragma unroll
  for (int step = 0; step < 2; ++step) {
    const std::uint32_t half = (scales[2 * step] | scales[2 * step + 1] << 16U) << (t / 2 * 8);
    words[step] = half | __shfl_xor_sync(kAll, half, 2);
  }
  return {make_uint4(codes[0], codes[1], codes[2], codes[3]), make_uint2(words[0], words[1])};
}

/// This thread's part of a slab of a grouped row.
__device__ void store_part(const QuantizeParams& p, std::int64_t row, int slab, const QuantizedPart& part) {
  const int t = static_cast<int>(threadIdx.x) % kSlabThreads;
  const auto g = static_cast<int>(row % kTokenUnitRows);
  std::uint8_t* unit = static_cast<std::uint8_t*>(p.tiles) +
                       (slab * (p.group_rows / kTokenUnitRows) + row / kTokenUnitRows) * kTokenUnitBytes;
  *reinterpret_cast<uint4*>(unit + (4 * g + t) * 16) = part.codes;
  if (t == 0) *reinterpret_cast<uint2*>(unit + kTokenUnitCodeBytes + g * 8) = part.scales;
}

__device__ void quantize_item(const QuantizeParams& p, int item, int slab) {
  const std::int32_t* rows = p.slot_rows + std::int64_t{item} * p.slots_per_item;
  if (!is_wanted(p, rows)) return;  // and nothing may have written its row
  const float weight = weight_of(p, item);
  const bool fixed = p.quant_multiplier != 0.0F;
  const float scale = fixed ? 0.0F : row_scale(p, item, weight);
  const QuantizedPart part = quantize_part(p, item, slab, weight, fixed ? p.quant_multiplier : __frcp_rn(scale));
  for (int slot = 0; slot < p.slots_per_item; ++slot) {
    if (rows[slot] < 0) continue;
    if (slab < slabs_of_row(p)) store_part(p, rows[slot], slab, part);
    if (!fixed && blockIdx.y == 0 && threadIdx.x == 0) p.input_scales[rows[slot]] = scale;
  }
}

__device__ void clear_padding(const QuantizeParams& p, int expert, int slab) {
  const RowRange range = p.ranges[expert];
  if (slab >= slabs_of_row(p)) return;
  for (int row = range.rows; row < padded_rows(range); ++row) store_part(p, range.begin + row, slab, QuantizedPart{});
}

__global__ void __launch_bounds__(kThreads) quantize_rows(QuantizeParams p) {
  ptx::wait_for_dependencies();
  ptx::launch_dependents();
  const auto block = static_cast<int>(blockIdx.x);
  const int slab = static_cast<int>(blockIdx.y) * kSlabsAtOnce + static_cast<int>(threadIdx.x) / kSlabThreads;
  if (block < p.items) {
    quantize_item(p, block, slab);
  } else {
    clear_padding(p, block - p.items, slab);
  }
}

}  // namespace

cudaError_t enqueue_quantize(const QuantizeParams& params, cudaStream_t stream) {
  const int slabs = (params.columns + kSlabK - 1) / kSlabK;
  const dim3 grid(static_cast<unsigned>(params.items + params.experts),
                  static_cast<unsigned>((slabs + kSlabsAtOnce - 1) / kSlabsAtOnce));
  return enqueue(quantize_rows, params, grid, kThreads, 0, 1, true, stream);
}

}  // namespace tilewright::cuda
