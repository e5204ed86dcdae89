// What each instruction set compiles for itself besides the dot products: filling block records, and the activation.
// Plain C++ everywhere, no contraction of products and sums: every tier computes the same bits.
#pragma once

#include <cstdint>

#include "cpu/dot_rows.hpp"
#include "tilewright/activation.hpp"

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

  /// out[r][i] += c[r][i] * factors[r] for `count` rows of n values; rows of c are 16 apart, which is the most n.
  void (*add_scaled)(const float* c, const float* factors, int count, int n, float* const* out);

  /// out[i] = activation(gate[i], up[i]) in fp32; a non-gated kind does not read `gate`, and out may be `up`. Within
  /// 4e-7 relative of the formula, plus 1e-30; gelu_tanh and swiglu_oai round the argument z of their sigmoid first,
  /// which adds 4e-7 * |z|.
  void (*activate)(const Activation& activation, const float* gate, const float* up, int count, float* out);
};

}  // namespace tilewright::cpu
