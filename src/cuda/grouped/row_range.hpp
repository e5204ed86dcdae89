// Grouped rows: the (token, expert) pairs of a GEMM, expert after expert.
#pragma once

#include <cstdint>

namespace tilewright::cuda {

/// The grouped rows of one expert. Each expert's begin at a multiple of kRowGroup: the rows between are padding.
struct RowRange {
  std::int32_t begin = 0;
  std::int32_t rows = 0;
};
inline constexpr int kRowGroup = 8;  ///< rows of SM90's 128-byte swizzle atom, columns of SM120's MMA

/// Grouped rows, padding included, that up to `rows` rows of `experts` experts can take.
constexpr std::int64_t grouped_rows(std::int64_t rows, std::int64_t experts) {
  const std::int64_t active = rows < experts ? rows : experts;
  return (rows + active * (kRowGroup - 1)) / kRowGroup * kRowGroup;
}

inline constexpr int kMaxExperts = 1024;

}  // namespace tilewright::cuda
