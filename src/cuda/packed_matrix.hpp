// Packing NVFP4 matrices into the order of the SM90 kernels (sm90/weight_order.hpp). Host code; needs no GPU.
#pragma once

#include <cstdint>

#include "tilewright/expert_weights.hpp"
#include "tilewright/result.hpp"

namespace tilewright::cuda {

/// Weight rows of GEMM1 for `lower` = gate and `upper` = up, which interleave by 8; of a plain matrix where both are
/// the same object.
std::int64_t packed_rows(const Nvfp4Matrix& lower, const Nvfp4Matrix& upper);

/// Bytes that pack_matrix writes.
std::int64_t packed_bytes(const Nvfp4Matrix& lower, const Nvfp4Matrix& upper);

/// Packs into `out`. Errors (`corrupt`): a block scale that is NaN (0x7F, 0xFF) or negative; 0x80, a signed -0, reads
/// as 0. `mismatch`: lower and upper of different shapes; rows of a joined pair that are not a multiple of 8.
Status pack_matrix(const Nvfp4Matrix& lower, const Nvfp4Matrix& upper, std::uint8_t* out);

}  // namespace tilewright::cuda
