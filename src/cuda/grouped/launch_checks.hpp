// What every grouped GEMM asks of a launch before it is enqueued, and the workspace of stream-K.
#pragma once

#include <cstdint>

#include "tilewright/result.hpp"
#include "tilewright/schedule.hpp"

namespace tilewright::cuda {

struct LaunchSizes {
  int experts = 0;
  int weight_rows = 0;
  int k = 0;
  std::int64_t y_stride = 0;
  const void* operands[3] = {};  ///< weights, x and y
};

/// `invalid_argument` of a size that no kernel takes, with its value and what is taken.
Status refuse_size(const char* what, std::int64_t value, const char* limit);

/// Experts up to 1,024, K and N in sixteens, rows of y in eights, operands at multiples of 16 bytes.
Status check_sizes(const LaunchSizes& sizes);

/// Tiles times k-blocks fit the 32 bits that the walk counts them in, for up to `rows` grouped rows; else `exhausted`.
Status check_units(const Schedule& schedule, const LaunchSizes& sizes, std::int64_t rows);

/// Bytes of `partials` for a launch, and of `flags`, which are zero before the first launch and after every one; 0
/// without stream-K.
std::int64_t partial_bytes(const Schedule& schedule, int blocks);
std::int64_t flag_bytes(const Schedule& schedule, int blocks);

/// A stream-K launch has both.
Status check_workspace(const Schedule& schedule, int blocks, const void* partials, const void* flags);

}  // namespace tilewright::cuda
