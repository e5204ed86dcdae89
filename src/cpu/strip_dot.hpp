// Dot products of a run of strips with the rows of one expert: the choice between streaming and panels, and the units.
#pragma once

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

  /// Strips [begin, end) of a matrix times rows; the result for strip s, row r is at result(s - begin, r), 16 values
  /// with units applied but not the matrix's global scales. Valid until the next call.
  void multiply(const PackedMatrix& matrix, std::int64_t begin, std::int64_t end, const RowList& rows);

  [[nodiscard]] const float* result(std::int64_t strip, int row) const {
    return c_.data() + (strip * record_rows_ + row) * kStripRows;
  }

  /// Rows that are worth one pass over a panel: more would push the strips' accumulators and the rows out of L2.
  static constexpr int kMaxRows = 128;

 private:
  void stream(const PackedMatrix& matrix, std::int64_t begin, std::int64_t end);
  void panels(const PackedMatrix& matrix, std::int64_t begin, std::int64_t end);
  void apply_units(std::int64_t strips, const RowList& rows);

  const KernelSet* kernels_;
  int panel_groups_;
  int record_rows_ = 0;
  std::vector<float> c_;
  std::vector<std::uint8_t> panel_;
  std::vector<const std::uint8_t*> pointers_;
  std::vector<const std::uint8_t*> at_panel_;
};

}  // namespace tilewright::cpu
