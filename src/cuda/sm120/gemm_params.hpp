// The arguments of an SM120 grouped GEMM on the device. Plain data: kernels take it by value.
#pragma once

#include <cstdint>

#include "cuda/grouped/gated_formula.hpp"
#include "cuda/grouped/row_range.hpp"
#include "cuda/sm120/fragment_order.hpp"

namespace tilewright::cuda::sm120 {

/// y[dest(r), :] = epilogue(W_e x[r, :]) for the grouped rows r of each expert e. All pointers are device memory,
/// 16-byte aligned. An ending in an activation leaves y in tile order (fragment_order.hpp), for GEMM2: row r at grouped
/// row r, in bf16 with w4a16, with w4a4 quantized from bf16 by the recipe of nvfp4.hpp. Channels from N on to the end
/// of a slab, and rows from an expert's last on to the next multiple of 8, are written as zeros.
struct GemmParams {
  const std::uint8_t* weights = nullptr;     ///< experts in tile order
  std::int64_t expert_stride = 0;            ///< bytes from an expert's weights to the next one's
  const float* row_scales = nullptr;         ///< [experts][2]: global scales of rows 0-7 and 8-15 of every 16; times
                                             ///< the input scale of x where that is one for an expert (NVFP4)
  const std::uint8_t* x = nullptr;           ///< grouped rows in tile order, NVFP4 or bf16
  const float* x_scales = nullptr;           ///< input scale of each grouped row, or null
  const std::int32_t* row_dest = nullptr;    ///< row of y for each grouped row (bf16, finalize)
  const float* row_weights = nullptr;        ///< for each grouped row (finalize)
  const RowRange* row_ranges = nullptr;      ///< [experts]
  const float* quant_multipliers = nullptr;  ///< [experts] S of y, the reciprocal of GEMM2's input scale (NVFP4)
  void* y = nullptr;                         ///< bf16 rows, or activations in tile order
  std::int64_t y_stride = 0;                 ///< of rows: elements; a multiple of 8
  std::int64_t group_rows = 0;               ///< grouped rows that x, and y in tile order, have room for
  int experts = 0;                           ///< at most 1,024
  int weight_rows = 0;                       ///< N of the weights, before padding; a multiple of 16
  int k = 0;                                 ///< a multiple of 16
  int ranges_ready = 0;  ///< not 0: row_ranges are older than the kernel before this one, so that weights may be
                         ///< loaded while that one drains
  GatedFormula gated;
  int stages = 0;                  ///< of the ring: two to those of the kernel's schedule
  int stream_k = 0;                ///< not 0: K is dealt evenly to the blocks
  float* partials = nullptr;       ///< stream-K: a tile of fp32 a block
  unsigned* flags = nullptr;       ///< stream-K: one a block, zero before the launch and after it
  std::int64_t* cycles = nullptr;  ///< FeedOnly: [blocks][2], clock cycles of the block's mainloops, and k-blocks
};

}  // namespace tilewright::cuda::sm120
