// The arguments of a grouped GEMM on the device. Plain data: kernels take it by value.
#pragma once

#include <cstdint>

#include "cuda/grouped/gated_formula.hpp"
#include "cuda/grouped/row_range.hpp"
#include "cuda/sm90/weight_order.hpp"

namespace tilewright::cuda::sm90 {

/// Activations in tile order, the order in which they lie in a stage: [slab of 64 k][grouped row] of 128 bytes, whose
/// 16-byte chunk c is at chunk c XOR (row % 8). K past its end is zeros.
constexpr std::int64_t tile_order_bytes(std::int64_t grouped, std::int64_t k) { return slabs_of(k) * grouped * 128; }

/// y[dest(r), :] = epilogue(W_e x[source(r), :]) for the grouped rows r of each expert e. All pointers are device
/// memory. A gated or activating epilogue leaves y in tile order, for GEMM2: row r at grouped row r.
struct GemmParams {
  const std::uint8_t* weights = nullptr;     ///< experts in the order of weight_order.hpp
  std::int64_t expert_stride = 0;            ///< bytes from an expert's weights to the next one's
  const float* row_scales = nullptr;         ///< [experts][2]: global scales of rows 0-7 and 8-15 of every 16
  const void* x = nullptr;                   ///< bf16, 16-byte aligned: rows (gather), or in tile order
  std::int64_t x_stride = 0;                 ///< of rows: elements from one to the next; a multiple of 8
  const std::int32_t* row_source = nullptr;  ///< row of x for each grouped row (gather)
  const std::int32_t* row_dest = nullptr;    ///< row of y for each grouped row (bf16, finalize)
  const float* row_weights = nullptr;        ///< for each grouped row (finalize)
  const RowRange* row_ranges = nullptr;      ///< [experts]
  void* y = nullptr;                         ///< bf16, 16-byte aligned: rows (bf16, finalize), or in tile order
  std::int64_t y_stride = 0;                 ///< of rows: elements; a multiple of 8
  std::int64_t group_rows = 0;               ///< grouped rows that x or y in tile order have room for
  int experts = 0;                           ///< at most 1,024
  int weight_rows = 0;                       ///< N of the weights, before padding; a multiple of 16
  int k = 0;                                 ///< a multiple of 16
  int ranges_ready = 0;  ///< not 0: row_ranges are older than the kernel before this one, so that weights may be
                         ///< loaded while that one drains
  GatedFormula gated;
  float* partials = nullptr;                      ///< stream-K: partial_floats(S) a block
  unsigned* flags = nullptr;                      ///< stream-K: one a block, zero before the launch and after it
  std::uint32_t scale_exponent = kScaleExponent;  ///< as an argument, so that it is no literal (fragment_decode.cuh)
};

}  // namespace tilewright::cuda::sm90
