// Packing NVFP4 matrices into the orders of the kernels (sm90/weight_order.hpp, sm120/fragment_order.hpp). Host code;
// needs no GPU.
#pragma once

#include <cstdint>

#include "tilewright/expert_weights.hpp"
#include "tilewright/result.hpp"

namespace tilewright::cuda {

enum class WeightOrder : std::uint8_t { sm90, sm120 };

/// Weight rows of GEMM1 for `lower` = gate and `upper` = up, which interleave by 8; of a plain matrix where both are
/// the same object.
std::int64_t packed_rows(const Nvfp4Matrix& lower, const Nvfp4Matrix& upper);

/// Bytes that pack_matrix writes.
std::int64_t packed_bytes(const Nvfp4Matrix& lower, const Nvfp4Matrix& upper, WeightOrder order = WeightOrder::sm90);

/// Packs into `out`. Errors (`corrupt`): a block scale that is NaN (0x7F, 0xFF) or negative; 0x80, a signed -0, reads
/// as 0. `mismatch`: lower and upper of different shapes; rows of a joined pair that are not a multiple of 8.
Status pack_matrix(const Nvfp4Matrix& lower, const Nvfp4Matrix& upper, std::uint8_t* out,
                   WeightOrder order = WeightOrder::sm90);

}  // namespace tilewright::cuda
