// Which part of a layer a rank loads.
#pragma once

#include <cstdint>

#include "tilewright/checkpoint.hpp"
#include "tilewright/expert_weights.hpp"

namespace tilewright {

struct ExpertRange {
  int first = 0;
  int count = 0;
};

/// The contiguous run of experts of an expert-parallel rank: the first `experts % ep` ranks have one more.
Result<ExpertRange> expert_range(int experts, const Slice& slice);

/// The channels of I that a tensor-parallel rank computes. Channels at or past I are padding.
struct ChannelRange {
  std::int64_t first = 0;
  std::int64_t count = 0;  ///< the same on every rank; a multiple of 16
};

/// `layer` is for the message of a split that is refused.
Result<ChannelRange> channel_range(int layer, std::int64_t intermediate, const Slice& slice);

/// Rows of gate or up. Rows past the matrix's valid ones are padding.
Nvfp4Matrix slice_rows(const Nvfp4Matrix& matrix, const ChannelRange& range);

/// Columns of down, likewise.
Nvfp4Matrix slice_columns(const Nvfp4Matrix& matrix, const ChannelRange& range);

}  // namespace tilewright
