// The arguments of a grouped GEMM on the device. Plain data: kernels take it by value.
#pragma once

#include <cstdint>

#include "cuda/sm90/weight_order.hpp"
#include "tilewright/activation.hpp"

namespace tilewright::cuda::sm90 {

/// One formula for all gated activations: with g' = min(g, gate_limit) and u' = clamp(u, -up_limit, up_limit),
///   min(g' * sigmoid(slope * g' * (1 + cubic * g'^2)), product_limit) * (u' + up_offset).
/// gelu_tanh(g) is g * sigmoid(2 sqrt(2 / pi) (g + 0.044715 g^3)).
struct GatedFormula {
  float gate_limit = 0.0F;
  float up_limit = 0.0F;
  float product_limit = 0.0F;
  float slope = 1.0F;
  float cubic = 0.0F;
  float up_offset = 0.0F;
};

/// `limit` is the activation's where it has one. A kind without a gate is not read by a gated epilogue.
GatedFormula gated_formula(const Activation& activation);

/// y[dest(r), :] = epilogue(W_e x[source(r), :]) for rows r in [row_offsets[e], row_offsets[e + 1]) of each expert e.
/// All pointers are device memory.
struct GemmParams {
  const std::uint8_t* weights = nullptr;      ///< experts in the order of weight_order.hpp
  std::int64_t expert_stride = 0;             ///< bytes from an expert's weights to the next one's
  const float* row_scales = nullptr;          ///< [experts][2]: global scales of rows 0-7 and 8-15 of every 16
  const void* x = nullptr;                    ///< bf16 rows, 16-byte aligned
  std::int64_t x_stride = 0;                  ///< elements from a row to the next; a multiple of 8
  const std::int32_t* row_source = nullptr;   ///< row of x for each row; null: the row itself
  const std::int32_t* row_dest = nullptr;     ///< row of y for each row; null: the row itself
  const float* row_weights = nullptr;         ///< by row of y (finalize)
  const std::int32_t* row_offsets = nullptr;  ///< [experts + 1], ascending from 0
  void* y = nullptr;                          ///< bf16 rows, 16-byte aligned
  std::int64_t y_stride = 0;                  ///< elements; a multiple of 8
  int experts = 0;                            ///< at most 1,024
  int weight_rows = 0;                        ///< N of the weights, before padding; a multiple of 16
  int k = 0;                                  ///< a multiple of 16
  GatedFormula gated;
  float* partials = nullptr;                      ///< stream-K: partial_floats(S) a block
  unsigned* flags = nullptr;                      ///< stream-K: one a block, zero before the launch and after it
  std::uint32_t scale_exponent = kScaleExponent;  ///< as an argument, so that it is no literal (fragment_decode.cuh)
};

inline constexpr int kMaxExperts = 1024;

}  // namespace tilewright::cuda::sm90
