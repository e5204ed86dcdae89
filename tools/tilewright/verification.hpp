// Comparing a layer's output with the reference in double.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewright/activation.hpp"
#include "tilewright/expert_weights.hpp"
#include "tilewright/float_types.hpp"
#include "tilewright/moe_layer.hpp"
#include "tilewright/precision.hpp"
#include "tilewright/result.hpp"
#include "tilewright/routing.hpp"

namespace tilewright::cli {

/// Largest error that counts as equal, as a part of the largest output of the token.
///
/// w4a16: 2^-8, one bf16 step. The intermediate is rounded to bf16 in the reference as in every backend; where a sum
/// in another order lands on the other side of a rounding, that channel is one step off, and no output may be off by
/// more. On a GPU each slot's output is rounded to bf16 too, and up to top-k roundings add up: 2^-7.
///
/// w4a4: 2^-5. The intermediate is rounded to NVFP4. A block scale on the other side of a rounding moves its 16
/// channels by a step, about a quarter of their size each: sqrt(16 / I) / 4 of an expert's output, 2^-5 at I = 256.
double verification_tolerance(Precision precision, Backend backend = Backend::cpu);

struct Verification {
  double max_rel_err = 0;  ///< of all tokens: the largest |y - reference| of a token over its largest |reference|
  double tolerance = 0;
  int worst_token = -1;  ///< -1 without tokens
  bool passed = true;    ///< also false where y is not finite, or not zero where the reference is
};

Verification compare(const std::vector<float>& y, const std::vector<double>& reference, int tokens, Precision precision,
                     Backend backend = Backend::cpu);

/// Runs the reference for the same input, on all cores: seconds for hundreds of tokens.
Result<std::vector<double>> reference_output(const ExpertWeights& weights, const Activation& activation,
                                             Precision precision, const std::vector<bf16>& x,
                                             const RoutedTokens& routed);

}  // namespace tilewright::cli
