// What epilogues do to accumulators.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

#include "cuda/grouped/gated_formula.hpp"

namespace tilewright::cuda {

/// min(x, limit), but NaN stays NaN.
__device__ inline float at_most(float x, float limit) { return x > limit ? limit : x; }

__device__ inline float gated_activation(const GatedFormula& f, float gate, float up) {
  const float g = at_most(gate, f.gate_limit);
  const float u = -at_most(-at_most(up, f.up_limit), f.up_limit);
  const float z = f.slope * g * (1.0F + f.cubic * g * g);
  const float product = __fdividef(g, 1.0F + __expf(-z));
  return at_most(product, f.product_limit) * (u + f.up_offset);
}

__device__ inline std::uint32_t pack_bf16(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const std::uint32_t*>(&pair);
}

/// NaN stays NaN.
__device__ inline float relu2(float x) { return x < 0.0F ? 0.0F : x * x; }

}  // namespace tilewright::cuda
