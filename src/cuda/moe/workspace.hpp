// The workspace of one layer on the device: which bytes hold what, as a pure function of sizes.
//
// GEMM2's rows and GEMM1's arranged tokens share their bytes: the former are written when the latter have been read.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/grouped/row_range.hpp"

namespace tilewright::cuda {

/// What the GEMMs need for a number of grouped rows.
struct ExpertsBytes {
  std::int64_t partials = 0;  ///< of stream-K, the most that a schedule needs
  std::int64_t flags = 0;
  std::int64_t arranged = 0;      ///< tokens, and scaled inputs, as GEMM1 reads them
  std::int64_t inner = 0;         ///< GEMM1's output as GEMM2 reads it
  std::int64_t unquantized = 0;   ///< GEMM1's output before it is
  std::int64_t input_scales = 0;  ///< of rows that have their own
};

struct WorkspaceSizes {
  int tokens = 0;
  int top_k = 0;
  int experts = 0;  ///< local
  std::int64_t hidden = 0;
  ExpertsBytes gemms;
};

/// Byte offsets, each a multiple of 256.
struct WorkspaceLayout {
  std::int64_t group_rows = 0;   ///< grouped rows, padding included
  std::int64_t ids = 0;          ///< [slots] int32: of routing on the device
  std::int64_t weights = 0;      ///< [slots] fp32: likewise
  std::int64_t ranges = 0;       ///< [experts] RowRange
  std::int64_t row_source = 0;   ///< [group_rows] int32
  std::int64_t row_dest = 0;     ///< [group_rows] int32
  std::int64_t row_weights = 0;  ///< [group_rows] fp32
  std::int64_t slot_rows = 0;    ///< [slots] int32
  std::int64_t flags = 0;
  std::int64_t partials = 0;
  std::int64_t input_scales = 0;
  std::int64_t unquantized = 0;
  std::int64_t inner = 0;
  std::int64_t rows = 0;  ///< [slots, H] bf16: GEMM2's output; or arranged tokens
  std::int64_t total = 0;
};

constexpr WorkspaceLayout workspace_layout(const WorkspaceSizes& sizes) {
  constexpr std::int64_t kAlignment = 256;
  WorkspaceLayout layout;
  const std::int64_t slots = std::int64_t{sizes.tokens} * sizes.top_k;
  layout.group_rows = grouped_rows(slots, sizes.experts);
  const auto take = [&](std::int64_t bytes) {
    const std::int64_t offset = layout.total;
    layout.total += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return offset;
  };
  layout.ids = take(slots * 4);
  layout.weights = take(slots * 4);
  layout.ranges = take(std::int64_t{sizes.experts} * static_cast<std::int64_t>(sizeof(RowRange)));
  layout.row_source = take(layout.group_rows * 4);
  layout.row_dest = take(layout.group_rows * 4);
  layout.row_weights = take(layout.group_rows * 4);
  layout.slot_rows = take(slots * 4);
  layout.flags = take(sizes.gemms.flags);
  layout.partials = take(sizes.gemms.partials);
  layout.input_scales = take(sizes.gemms.input_scales);
  layout.unquantized = take(sizes.gemms.unquantized);
  layout.inner = take(sizes.gemms.inner);
  layout.rows = take(std::max(sizes.gemms.arranged, slots * sizes.hidden * 2));
  return layout;
}

}  // namespace tilewright::cuda
