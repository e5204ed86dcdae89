// The scalar reference in double: what every backend is compared with.
//
// It follows the formulas and nothing else. Products of weights and activations are exact in double (at most 8 + 6
// significant bits), so the only error of a GEMM is that of adding K doubles; the only roundings of a layer are the
// ones that its contract has: bf16 for the intermediate, NVFP4 for the activations under w4a4.
#pragma once

#include <span>

#include "tilewright/activation.hpp"
#include "tilewright/expert_weights.hpp"
#include "tilewright/float_types.hpp"
#include "tilewright/precision.hpp"
#include "tilewright/result.hpp"
#include "tilewright/routing.hpp"

namespace tilewright::cpu {

struct ReferenceOptions {
  int threads = 0;  ///< 0: as many as the machine runs at once. The result does not depend on it.
};

/// bf16 nearest to x, ties to even, rounded once (a detour over fp32 would round twice).
bf16 nearest_bf16(double x);

/// y[n] = global_scale * sum over k of x[k] * e2m1(code[n, k]) * ue4m3(scale[n, k / 16]).
/// x has matrix.cols values and y matrix.rows. Order of the sum: k goes to partial sum k mod 8, each in ascending k;
/// then ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)).
Status reference_gemm(const Nvfp4Matrix& matrix, std::span<const double> x, std::span<double> y);

/// y[t, :] = sum over the slots of t, in slot order, of weight * down(activation(gate(x[t]), up(x[t]))).
///
/// x is [tokens, H] in bf16 and y [tokens, H]; both row-major. `routed` holds global expert ids: a slot of -1 and a
/// slot of an expert that does not live here add nothing, and a token without slots gets zeros. Under w4a4 the
/// activations are quantized by the recipe of nvfp4.hpp with the scales of input_scales.hpp. With routed.scale_input
/// the slot's input is scaled_input(x[t], weight) and its output weight is 1. An id outside [-1, global_experts),
/// shapes that do not agree and (w4a4) input scales that are not positive are errors.
Status reference_layer(const ExpertWeights& weights, const Activation& activation, Precision precision, const bf16* x,
                       const RoutedTokens& routed, double* y, const ReferenceOptions& options = {});

}  // namespace tilewright::cpu
