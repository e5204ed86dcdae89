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

  /// What one step of the dot products of row r with doubled weight codes is worth.
  [[nodiscard]] float unit(int r) const { return units_[r] * kWeightUnit; }

 private:
  friend class StripDot;
  struct Tail {
    int row;
    const std::uint8_t* records;
    float unit;
  };
  std::vector<const std::uint8_t*> records_;
  std::vector<float> units_;
  std::vector<Tail> tails_;
};

/// One thread's buffers.
class StripDot {
 public:
  StripDot(const KernelSet& kernels, int panel_k) : kernels_(&kernels), panel_groups_(panel_k / kGroupK) {}

  /// Strips [begin, end) of a matrix times rows. The result for strip s, row r is at result(s - begin, r): 16 values,
  /// still to be multiplied by rows.unit(r) and the matrix's global scale. Valid until the next call.
  void multiply(const PackedMatrix& matrix, std::int64_t begin, std::int64_t end, const RowList& rows);

  [[nodiscard]] const float* result(std::int64_t strip, int row) const {
    return c_.data() + (strip * record_rows_ + row) * kStripRows;
  }

  /// Rows of `row_bytes` that one pass over the strips takes: as many as stay in L2 while every strip reads them all.
  static std::int64_t rows_a_pass(std::size_t row_bytes) {
    return std::max<std::int64_t>(kMinRows, kRowBudget / static_cast<std::int64_t>(row_bytes));
  }

 private:
  void stream(const PackedMatrix& matrix, std::int64_t begin, std::int64_t end);
  void panels(const PackedMatrix& matrix, std::int64_t begin, std::int64_t end);
  void multiply_panel(const std::uint8_t* panel, int groups, const std::uint8_t* next, float* c);
  void add_tails(std::int64_t strips, const RowList& rows);

  // Three fifths of the 512 KB that a core of the last decade's servers has at least; the rest is for the panel, the
  // accumulators and the weights on their way. Fewer than 16 rows would not pay for expanding a panel.
  static constexpr std::int64_t kRowBudget = 320 * 1024;
  static constexpr std::int64_t kMinRows = 16;

  const KernelSet* kernels_;
  int panel_groups_;
  int record_rows_ = 0;
  std::vector<float> c_;
  std::vector<std::uint8_t> panel_;
  std::vector<const std::uint8_t*> pointers_;
  std::vector<const std::uint8_t*> at_panel_;
};

}  // namespace tilewright::cpu
