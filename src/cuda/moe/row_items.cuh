// Rows of bf16 as the kernels that bring them into SM120's tile orders read them (contract: RowItems).
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

#include "cuda/moe/moe_kernels.hpp"

namespace tilewright::cuda {

inline constexpr int kChunk = 8;  ///< bf16 values of 16 bytes

__device__ __forceinline__ float weight_of(const RowItems& p, int item) {
  return p.weights == nullptr ? 1.0F : p.weights[item];
}

/// Whether any slot of the item has a row.
__device__ __forceinline__ bool is_wanted(const RowItems& p, const std::int32_t* rows) {
  bool wanted = false;
  for (int slot = 0; slot < p.slots_per_item; ++slot) wanted |= rows[slot] >= 0;
  return wanted;
}

/// Eight values of an item's row from column `column` on, scaled and rounded to bf16; zeros past its end.
__device__ __forceinline__ uint4 load_chunk(const RowItems& p, int item, int column, float weight) {
  if (column >= p.columns) return uint4{};
  const auto* row = static_cast<const __nv_bfloat16*>(p.x) + std::int64_t{item / p.items_per_row} * p.columns;
  uint4 words = *reinterpret_cast<const uint4*>(row + column);
  if (p.weights == nullptr) return words;
  auto* pairs = reinterpret_cast<__nv_bfloat162*>(&words);
#pragma unroll
  for (int i = 0; i < kChunk / 2; ++i) {
    const float2 pair = __bfloat1622float2(pairs[i]);
    pairs[i] = __floats2bfloat162_rn(__fmul_rn(pair.x, weight), __fmul_rn(pair.y, weight));
  }
  return words;
}

/// Grouped rows of an expert, padding included.
__device__ __forceinline__ int padded_rows(const RowRange& range) {
  return (range.rows + kRowGroup - 1) / kRowGroup * kRowGroup;
}

}  // namespace tilewright::cuda
