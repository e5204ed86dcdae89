// The workspace of one layer on the device: which bytes hold what, as a pure function of sizes.
//
// GEMM2's rows and GEMM1's arranged tokens share their bytes: the former are written when the latter have been read.
#pragma once

#include <cstdint>

#include "cuda/sm90/gemm_params.hpp"

namespace tilewright::cuda {

struct WorkspaceSizes {
  int tokens = 0;
  int top_k = 0;
  int experts = 0;  ///< local
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;
  std::int64_t partial_bytes = 0;  ///< of stream-K, the most that a schedule needs
  std::int64_t flag_bytes = 0;
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
  std::int64_t inner = 0;  ///< GEMM1's output in tile order
  std::int64_t rows = 0;   ///< [slots, H] bf16: GEMM2's output, scaled inputs; or tokens in tile order
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
  layout.flags = take(sizes.flag_bytes);
  layout.partials = take(sizes.partial_bytes);
  layout.inner = take(sm90::tile_order_bytes(layout.group_rows, sizes.intermediate));
  const std::int64_t arranged = sm90::tile_order_bytes(layout.group_rows, sizes.hidden);
  const std::int64_t rows = slots * sizes.hidden * 2;
  layout.rows = take(arranged > rows ? arranged : rows);
  return layout;
}

}  // namespace tilewright::cuda
