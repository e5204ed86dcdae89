#include "cpu/strip_dot.hpp"

#include <algorithm>

namespace tilewright::cpu {

void RowList::clear() {
  records_.clear();
  units_.clear();
  tails_.clear();
}

void RowList::add(const DotRows& rows, std::int64_t index) {
  if (const std::uint8_t* tail = rows.tail(index)) tails_.push_back({size(), tail, rows.tail_unit(index)});
  records_.push_back(rows.row(index));
  units_.push_back(rows.unit(index));
}

void StripDot::multiply(const PackedMatrix& matrix, std::int64_t begin, std::int64_t end, const RowList& rows) {
  record_rows_ = rows.record_rows();
  pointers_ = rows.records_;
  for (const RowList::Tail& tail : rows.tails_) pointers_.push_back(tail.records);
  const auto values = static_cast<std::size_t>((end - begin) * record_rows_ * kStripRows);
  if (c_.size() < values) c_.resize(values);
  if (record_rows_ <= kernels_->stream_limit) {
    stream(matrix, begin, end);
  } else {
    panels(matrix, begin, end);
  }
  apply_units(end - begin, rows);
}

void StripDot::stream(const PackedMatrix& matrix, std::int64_t begin, std::int64_t end) {
  for (std::int64_t s = begin; s < end; ++s) {
    float* c = c_.data() + (s - begin) * record_rows_ * kStripRows;
    for (int r = 0; r < record_rows_; r += kernels_->stream_rows) {
      const int count = std::min(kernels_->stream_rows, record_rows_ - r);
      kernels_->stream_dot(matrix.strip(s), matrix.groups(), pointers_.data() + r, count, c + r * kStripRows);
    }
  }
}

void StripDot::panels(const PackedMatrix& matrix, std::int64_t begin, std::int64_t end) {
  // 64-byte alignment for whole-line stores; the vector may start anywhere.
  panel_.resize(static_cast<std::size_t>(panel_bytes(panel_groups_)) + 64);
  auto* panel = panel_.data() + (64 - reinterpret_cast<std::uintptr_t>(panel_.data()) % 64) % 64;
  std::fill_n(c_.begin(), (end - begin) * record_rows_ * kStripRows, 0.0F);
  at_panel_.resize(pointers_.size());
  // The panel is the outer loop: the rows' part of it stays in L2 while the strips pass.
  for (int first = 0; first < matrix.groups(); first += panel_groups_) {
    const int groups = std::min(panel_groups_, matrix.groups() - first);
    const std::int64_t offset = static_cast<std::int64_t>(first) * kGroupBlocks * record_bytes(kernels_->format);
    for (std::size_t r = 0; r < pointers_.size(); ++r) at_panel_[r] = pointers_[r] + offset;
    for (std::int64_t s = begin; s < end; ++s) {
      kernels_->expand_panel(matrix.strip(s) + static_cast<std::int64_t>(first) * kGroupBytes, groups, panel);
      kernels_->panel_dot(panel, groups, at_panel_.data(), record_rows_,
                          c_.data() + (s - begin) * record_rows_ * kStripRows);
    }
  }
}

void StripDot::apply_units(std::int64_t strips, const RowList& rows) {
  for (std::int64_t s = 0; s < strips; ++s) {
    float* c = c_.data() + s * record_rows_ * kStripRows;
    for (int r = 0; r < rows.size(); ++r) {
      const float unit = rows.units_[r] * kWeightUnit;
      for (int n = 0; n < kStripRows; ++n) c[r * kStripRows + n] *= unit;
    }
    for (std::size_t t = 0; t < rows.tails_.size(); ++t) {
      const float unit = rows.tails_[t].unit * kWeightUnit;
      const float* tail = c + (rows.size() + static_cast<int>(t)) * kStripRows;
      for (int n = 0; n < kStripRows; ++n) c[rows.tails_[t].row * kStripRows + n] += tail[n] * unit;
    }
  }
}

}  // namespace tilewright::cpu
