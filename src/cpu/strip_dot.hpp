// Dot products of a run of strips with the rows of one expert: the choice between streaming and panels, and the tails.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cpu/dot_rows.hpp"
#include "cpu/kernels.hpp"
#include "cpu/packed_experts.hpp"

namespace tilewright::cpu {

/// The rows of a DotRows that one expert reads, in the order of its slots.
class RowList {
 public:
  void clear();
  void add(const DotRows& rows, std::int64_t index);

  /// Logical rows; rows with a tail have a second set of records, which come after all the first ones.
  [[nodiscard]] int size() const { return static_cast<int>(units_.size()); }
  [[nodiscard]] int record_rows() const { return static_cast<int>(units_.size() + tails_.size()); }

  /// What one step of the dot products of row r is worth.
  [[nodiscard]] float unit(int r) const { return units_[r] * dot_unit_; }

 private:
  friend class StripDot;
  struct Tail {
    int row;
    const std::uint8_t* records;
    float unit;
  };
  float dot_unit_ = kWeightUnit;
  std::vector<const std::uint8_t*> records_;
  std::vector<float> units_;
  std::vector<Tail> tails_;
};

/// Memory that starts on a cache line; what was there is lost when it grows.
class AlignedBytes {
 public:
  std::uint8_t* reserve(std::int64_t bytes) {
    constexpr std::size_t kLine = 64;
    if (storage_.size() < static_cast<std::size_t>(bytes) + kLine) {
      storage_.resize(static_cast<std::size_t>(bytes) + kLine);
    }
    return storage_.data() + (kLine - reinterpret_cast<std::uintptr_t>(storage_.data()) % kLine) % kLine;
  }

 private:
  std::vector<std::uint8_t> storage_;
};

/// How a GEMM goes over its weights: decoding them for every few rows, or expanding them once for all of an expert.
enum class WeightWalk { stream, panel };

/// The format of rows for a walk.
constexpr RowFormat row_format(const KernelSet& kernels, WeightWalk walk) {
  return walk == WeightWalk::stream ? kernels.stream_format : kernels.panel_format;
}

/// One thread's buffers.
class StripDot {
 public:
  StripDot(const KernelSet& kernels, int panel_k) : kernels_(&kernels), panel_groups_(panel_k / kGroupK) {}

  /// The rows, of row_format(walk), that the following products take; they must outlive them.
  void set_rows(const RowList& rows, int groups, WeightWalk walk);

  /// Strips [begin, end) of a matrix times the rows. The result for strip s, row r is at result(s - begin, r): 16
  /// values, still to be multiplied by rows.unit(r) and the matrix's global scale. Valid until the next call.
  void multiply(const PackedMatrix& matrix, std::int64_t begin, std::int64_t end);

  [[nodiscard]] const float* result(std::int64_t strip, int row) const {
    return c_.data() + (strip * record_rows_ + row) * kStripRows;
  }

  /// Values from a strip's results to the next strip's.
  [[nodiscard]] std::int64_t strip_stride() const { return std::int64_t{record_rows_} * kStripRows; }

  /// Rows of `row_bytes` that one pass over the strips takes: as many as stay in L2 while every strip reads them all.
  [[nodiscard]] static std::int64_t rows_a_pass(const KernelSet& kernels, std::size_t row_bytes);

 private:
  void stream(const PackedMatrix& matrix, std::int64_t begin, std::int64_t end);
  void panels(const PackedMatrix& matrix, std::int64_t begin, std::int64_t end);
  void tiles(const PackedMatrix& matrix, std::int64_t begin, std::int64_t end);
  void multiply_panel(const std::uint8_t* panel, int groups, const std::uint8_t* next, float* c);
  void add_tails(std::int64_t strips);

  const KernelSet* kernels_;
  int panel_groups_;
  const RowList* rows_ = nullptr;
  WeightWalk walk_ = WeightWalk::stream;
  int record_rows_ = 0;
  AlignedBytes panel_;
  AlignedBytes tiles_;
  std::vector<float> c_;
  std::vector<const std::uint8_t*> pointers_;
  std::vector<const std::uint8_t*> at_panel_;
};

}  // namespace tilewright::cpu
