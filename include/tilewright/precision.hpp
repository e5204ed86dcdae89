// Precision: what the activations are when they meet the NVFP4 weights.
#pragma once

#include <string>

#include "tilewright/result.hpp"

namespace tilewright {

/// A mode is asked for, never silently swapped. Accumulation is fp32 or wider in each.
enum class Precision {
  w4a16,  ///< bf16 activations; e2m1 * ue4m3 is exact in bf16, so the weights lose nothing
  w4a4,   ///< activations quantized to NVFP4 before GEMM1, and the intermediate again before GEMM2
};

/// Name as it stands on the command line and in JSON: "w4a16" or "w4a4".
const char* to_string(Precision precision);
/// The inverse of to_string; an unknown name is an `invalid_argument` that lists the known ones.
Result<Precision> parse_precision(const std::string& name);

}  // namespace tilewright
