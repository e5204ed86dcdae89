// What each instruction set compiles for itself besides the dot products: filling block records, the activation, and
// adding up.
// Plain C++ everywhere, no contraction of products and sums: every tier computes the same bits.
#pragma once

#include <cstdint>

#include "cpu/dot_rows.hpp"
#include "tilewright/activation.hpp"
#include "tilewright/float_types.hpp"

namespace tilewright::cpu {

struct RowKernels {
  /// The bits of the largest magnitude of n values; at least 0x7F800000 where one is not finite.
  std::int32_t (*largest_bits)(const float* x, std::int64_t n);

  /// Fills a wide record from 16 values: the planes of x * inverse_unit rounded to nearest, and m = multiplier.
  void (*wide_record)(const float* x, float inverse_unit, float multiplier, RowFormat format, std::uint8_t* record);

  /// Fills a codes record from 16 values: doubled e2m1 codes of x * code_multiplier (nvfp4.hpp), and m = multiplier;
  /// a bf16_tile record holds their products.
  void (*codes_record)(const float* x, float code_multiplier, float multiplier, RowFormat format, std::uint8_t* record);

  /// Fills the bf16 records of n values, whole blocks: x * factor, which bf16 must hold exactly.
  void (*bf16_records)(const float* x, std::int64_t n, float factor, std::uint8_t* records);

  /// out[i] = x[i] for n values.
  void (*widen)(const bf16* x, std::int64_t n, float* out);

  /// The sums c[s][r] of `strips` strips with `count` rows as rows of channels, times the row's factor: gate and up
  /// [row][s * 8 + n] of values n and 8 + n. Not gated: up [row][s * 16 + n] only. Strips of c are `stride` values
  /// apart.
  void (*split_strips)(const float* c, std::int64_t stride, int strips, bool gated, const float* gate_factors,
                       const float* up_factors, int count, float* gate, float* up);

  /// out[i] = activation(gate[i], up[i]) in fp32; a non-gated kind does not read `gate`, and out may be `up`. Within
  /// 4e-7 relative of the formula, plus 1e-30; gelu_tanh and swiglu_oai round the argument z of their sigmoid first,
  /// which adds 4e-7 * |z|.
  void (*activate)(const Activation& activation, const float* gate, const float* up, int count, float* out);

  /// x, [row][width], rounded to bf16, to nearest and ties to even: the first `n` of each of `count` rows to out, whose
  /// rows are `stride` apart.
  void (*round_rows)(const float* x, int count, int width, int n, bf16* out, std::int64_t stride);

  /// out[r][s * 16 + i] += c[s][r][i] * factors[r] for `count` rows of `strips` strips of 16 values, the last one of
  /// `last`. Strips of c are `stride` values apart.
  void (*add_strips)(const float* c, std::int64_t stride, int strips, int last, const float* factors, int count,
                     float* const* out);
};

}  // namespace tilewright::cpu
