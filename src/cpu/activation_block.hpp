// The activation over arrays, written so that compilers vectorise it: what runs between GEMM1 and GEMM2.
#pragma once

#include "tilewright/activation.hpp"

namespace tilewright::cpu {

/// out[i] = activation(gate[i], up[i]) in fp32; a non-gated kind does not read `gate`, and out may be `up`. Within 4e-7
/// relative of the formula, plus 1e-30; gelu_tanh and swiglu_oai round the argument z of their sigmoid first, which adds
/// 4e-7 * |z|.
void activate_block(const Activation& activation, const float* gate, const float* up, int count, float* out);

}  // namespace tilewright::cpu
