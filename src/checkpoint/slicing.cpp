#include "checkpoint/slicing.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "tilewright/nvfp4.hpp"

namespace tilewright {
namespace {

Status check_rank(const char* kind, int degree, int rank) {
  if (degree >= 1 && rank >= 0 && rank < degree) return {};
  return fail(ErrorCode::invalid_argument, fmt::format("{} rank {} of {} does not exist", kind, rank, degree),
              fmt::format("give a degree of at least 1 and a rank of 0 to {}", std::max(degree, 1) - 1));
}

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

std::string degrees_that_fit(std::int64_t intermediate) {
  std::string list;
  for (int degree : {1, 2, 3, 4, 5, 6, 8, 12, 16, 32}) {
    if (intermediate % (std::int64_t{kBlock} * degree) == 0)
      list += fmt::format("{}{}", list.empty() ? "" : ", ", degree);
  }
  return list;
}

std::int64_t valid_part(std::int64_t valid, const ChannelRange& range) {
  return std::clamp<std::int64_t>(valid - range.first, 0, range.count);
}

}  // namespace

Result<ExpertRange> expert_range(int experts, const Slice& slice) {
  TILEWRIGHT_TRY(check_rank("expert-parallel", slice.ep, slice.ep_rank));
  if (slice.ep > experts) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} experts cannot be split over {} expert-parallel ranks", experts, slice.ep),
                fmt::format("use at most --ep {}", experts));
  }
  const int base = experts / slice.ep;
  const int longer = experts % slice.ep;
  return ExpertRange{base * slice.ep_rank + std::min(slice.ep_rank, longer), base + (slice.ep_rank < longer ? 1 : 0)};
}

Result<ChannelRange> channel_range(int layer, std::int64_t intermediate, const Slice& slice) {
  TILEWRIGHT_TRY(check_rank("tensor-parallel", slice.tp, slice.tp_rank));
  const std::int64_t unit = std::int64_t{kBlock} * slice.tp;
  const std::int64_t padded = round_up(intermediate, unit);
  const std::int64_t count = padded / slice.tp;
  if (padded != intermediate && slice.padding == TpPadding::refuse) {
    // The first rank boundary that is no block boundary.
    std::int64_t rank = 1;
    while ((intermediate * rank) % unit == 0) ++rank;
    const std::int64_t block = intermediate * rank / unit;
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("layer {}: I {} over {} tensor-parallel ranks is {:.6g} channels a rank, which cuts the "
                    "16-block of channels {} to {} between ranks {} and {}",
                    layer, intermediate, slice.tp, static_cast<double>(intermediate) / static_cast<double>(slice.tp),
                    block * kBlock, block * kBlock + kBlock - 1, rank - 1, rank),
        fmt::format("use --tp {}, or pad to {} channels a rank (I {})", degrees_that_fit(intermediate), count, padded));
  }
  return ChannelRange{count * slice.tp_rank, count};
}

Nvfp4Matrix slice_rows(const Nvfp4Matrix& matrix, const ChannelRange& range) {
  Nvfp4Matrix slice = matrix;
  slice.rows = range.count;
  slice.valid_rows = valid_part(matrix.valid_rows, range);
  const std::int64_t first = slice.valid_rows > 0 ? range.first : 0;  // a slice of padding alone points nowhere new
  slice.codes += first * matrix.code_row_stride;
  slice.scales += first * matrix.scale_row_stride;
  return slice;
}

Nvfp4Matrix slice_columns(const Nvfp4Matrix& matrix, const ChannelRange& range) {
  Nvfp4Matrix slice = matrix;
  slice.cols = range.count;
  slice.valid_cols = valid_part(matrix.valid_cols, range);
  const std::int64_t first = slice.valid_cols > 0 ? range.first : 0;
  slice.codes += first / 2 * matrix.code_col_stride;
  slice.scales += first / kBlock * matrix.scale_col_stride;
  return slice;
}

}  // namespace tilewright
