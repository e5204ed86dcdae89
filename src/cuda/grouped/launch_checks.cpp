#include "cuda/grouped/launch_checks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cuda/grouped/row_range.hpp"
#include "cuda/grouped/tile_walk.hpp"

namespace tilewright::cuda {

Status refuse_size(const char* what, std::int64_t value, const char* limit) {
  return fail(ErrorCode::invalid_argument, fmt::format("{} is {}, not {}", what, value, limit),
              "give the sizes that the weights were packed with");
}

Status check_sizes(const LaunchSizes& sizes) {
  const auto in_sixteens = [](int size) { return size >= 16 && size % 16 == 0; };
  if (sizes.experts < 1 || sizes.experts > kMaxExperts) {
    return refuse_size("the number of experts", sizes.experts, "1 to 1024");
  }
  if (!in_sixteens(sizes.k)) return refuse_size("K", sizes.k, "a positive multiple of 16");
  if (!in_sixteens(sizes.weight_rows)) return refuse_size("N", sizes.weight_rows, "a positive multiple of 16");
  if (sizes.y_stride % 8 != 0) return refuse_size("the stride of y", sizes.y_stride, "a multiple of 8");
  const bool aligned = std::all_of(std::begin(sizes.operands), std::end(sizes.operands), [](const void* operand) {
    return reinterpret_cast<std::uintptr_t>(operand) % 16 == 0;
  });
  if (aligned) return {};
  return fail(ErrorCode::invalid_argument, "weights, x and y are not all aligned to 16 bytes",
              "allocate them with cudaMalloc and keep row strides multiples of 8");
}

Status check_units(const Schedule& schedule, const LaunchSizes& sizes, std::int64_t rows) {
  const std::int64_t tiles_n = rows / schedule.tile_n + sizes.experts;
  // One more than N has: output in tile order may end with a tile without weights.
  const std::int64_t tiles_m = (sizes.weight_rows + schedule.tile_m - 1) / schedule.tile_m + 1;
  const std::int64_t k_blocks = (sizes.k + schedule.tile_k - 1) / schedule.tile_k;
  constexpr std::int64_t kMostPacked = 0xFFFF;  // of weight tiles and k-blocks: a tile slot has 16 bits for each
  if (tiles_m <= kMostPacked && k_blocks <= kMostPacked && tiles_n <= kMostUnits / (tiles_m * k_blocks)) return {};
  return fail(ErrorCode::exhausted,
              fmt::format("{} x {} tiles of {} k-blocks are more than the {} that one launch counts", tiles_n, tiles_m,
                          k_blocks, kMostUnits),
              "run the tokens in several launches");
}

std::int64_t partial_bytes(const Schedule& schedule, int blocks) {
  if (schedule.split.kind != SplitKind::stream_k) return 0;
  return std::int64_t{4} * schedule.tile_m * schedule.tile_n * blocks;
}

std::int64_t flag_bytes(const Schedule& schedule, int blocks) {
  return schedule.split.kind == SplitKind::stream_k ? std::int64_t{4} * blocks : 0;
}

Status check_workspace(const Schedule& schedule, int blocks, const void* partials, const void* flags) {
  if (schedule.split.kind != SplitKind::stream_k || (partials != nullptr && flags != nullptr)) return {};
  return fail(ErrorCode::invalid_argument, "a stream-K launch has no workspace",
              fmt::format("give {} bytes of partials and {} of zeroed flags", partial_bytes(schedule, blocks),
                          flag_bytes(schedule, blocks)));
}

}  // namespace tilewright::cuda
