// The activation over arrays, written so that compilers vectorise it: what runs between GEMM1 and GEMM2.
#pragma once

#include "tilewright/activation.hpp"

namespace tilewright::cpu {

/// out[i] = activation(gate[i], up[i]) in fp32, within 4e-7 relative of the formula (plus 1e-30 absolute); a non-gated
/// kind does not read `gate`. out may be `up`.
void activate_block(const Activation& activation, const float* gate, const float* up, int count, float* out);

}  // namespace tilewright::cpu
