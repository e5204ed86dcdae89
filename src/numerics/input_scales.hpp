// What happens to the activations before a GEMM: one definition for the reference and every backend.
//
// An input scale is a multiplier, amax / 2688 (ModelOpt's input_scale); the quantization multiplier S is its fp32
// reciprocal. The activations of GEMM1 are quantized once for all experts, so they take one scale: the largest over
// gate and up of all the layer's experts, also of those on other ranks. The intermediate of an expert takes that
// expert's own down scale. Without a scale in the checkpoint a row is scaled by its own amax.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "tilewright/expert_weights.hpp"
#include "tilewright/float_types.hpp"
#include "tilewright/nvfp4.hpp"
#include "tilewright/result.hpp"

namespace tilewright {

/// The layer's scale where the weights carry it, so that ranks of an expert-parallel group agree; else the largest gate
/// or up input scale of the experts that live here; none when no expert has one.
inline std::optional<float> gemm1_input_scale(const ExpertWeights& weights) {
  if (weights.layer_input_scale) return weights.layer_input_scale;
  std::optional<float> largest;
  for (const Nvfp4Expert& expert : weights.experts) {
    for (const Nvfp4Matrix* matrix : {&expert.gate, &expert.up}) {
      if (!matrix->empty() && matrix->input_scale) largest = std::max(largest.value_or(0.0F), *matrix->input_scale);
    }
  }
  return largest;
}

/// The scale that quantizes one row: `fixed` where there is one, else the row's amax / 2688. A row whose scale would be
/// 0 or subnormal, with a reciprocal that may overflow, takes 1. NaN does not take part in the maximum.
inline float row_input_scale(std::optional<float> fixed, std::span<const float> row) {
  if (fixed) return *fixed;
  float amax = 0.0F;
  for (const float value : row) amax = std::max(amax, std::abs(value));
  const float scale = amax / kNvfp4Max;
  return scale >= std::numeric_limits<float>::min() ? scale : 1.0F;
}

/// S of the quantization recipe.
inline float quant_multiplier(float input_scale) { return 1.0F / input_scale; }

/// The input of a slot whose router weight scales the expert's input: the fp32 product, rounded to bf16.
inline bf16 scaled_input(bf16 x, float weight) { return to_bf16(to_float(x) * weight); }

/// A multiplier whose reciprocal is finite.
inline bool usable_input_scale(std::optional<float> scale) {
  return !scale || (std::isnormal(*scale) && *scale > 0.0F);
}

/// A `corrupt` error that names expert and matrix, or the layer, where an input scale is not a normal number above 0.
inline Status check_input_scales(const ExpertWeights& weights) {
  constexpr const char* kRemedy = "run w4a16, which needs no input scale, or calibrate the checkpoint again";
  for (std::size_t e = 0; e < weights.experts.size(); ++e) {
    const Nvfp4Expert& expert = weights.experts[e];
    for (const auto& [name, matrix] : {std::pair{"gate", &expert.gate}, {"up", &expert.up}, {"down", &expert.down}}) {
      if (usable_input_scale(matrix->input_scale)) continue;
      return fail(ErrorCode::corrupt,
                  "expert " + std::to_string(weights.first_expert + static_cast<int>(e)) + " " + name +
                      " has input scale " + std::to_string(*matrix->input_scale) + ", not a normal number above 0",
                  kRemedy);
    }
  }
  if (usable_input_scale(weights.layer_input_scale)) return {};
  return fail(
      ErrorCode::corrupt,
      "the layer has input scale " + std::to_string(*weights.layer_input_scale) + ", not a normal number above 0",
      kRemedy);
}

}  // namespace tilewright
