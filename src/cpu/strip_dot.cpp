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
  if (!rows.tails_.empty()) add_tails(end - begin, rows);
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
  at_panel_.resize(pointers_.size());
  for (std::int64_t s = begin; s < end; ++s) {
    float* c = c_.data() + (s - begin) * record_rows_ * kStripRows;
    std::fill_n(c, record_rows_ * kStripRows, 0.0F);
    // A strip is one stream of memory: panel after panel, with every row of the expert passing over each.
    for (int first = 0; first < matrix.groups(); first += panel_groups_) {
      const int groups = std::min(panel_groups_, matrix.groups() - first);
      const std::int64_t offset = static_cast<std::int64_t>(first) * kGroupBlocks * record_bytes(kernels_->format);
      for (std::size_t r = 0; r < pointers_.size(); ++r) at_panel_[r] = pointers_[r] + offset;
      const std::uint8_t* weights = matrix.strip(s) + static_cast<std::int64_t>(first) * kGroupBytes;
      kernels_->expand_panel(weights, groups, panel);
      multiply_panel(panel, groups, weights + groups * kGroupBytes, c);
    }
  }
}

/// All rows over one panel. The next panel's weights are asked for between the rows, a few lines at a time: in one go
/// they would fill the core's queue of outstanding lines and hold up the loads that it is there for.
void StripDot::multiply_panel(const std::uint8_t* panel, int groups, const std::uint8_t* next, float* c) {
  constexpr int kRowsBetween = 24;  // a multiple of every kernel's rows a pass
  const int parts = (record_rows_ + kRowsBetween - 1) / kRowsBetween;
  const int lines = groups * kGroupBytes / 64;
  for (int part = 0; part < parts; ++part) {
    for (int line = lines * part / parts; line < lines * (part + 1) / parts; ++line)
      __builtin_prefetch(next + line * 64);
    const int r = part * kRowsBetween;
    kernels_->panel_dot(panel, groups, at_panel_.data() + r, std::min(kRowsBetween, record_rows_ - r),
                        c + r * kStripRows);
  }
}

void StripDot::add_tails(std::int64_t strips, const RowList& rows) {
  for (std::int64_t s = 0; s < strips; ++s) {
    float* c = c_.data() + s * record_rows_ * kStripRows;
    for (std::size_t t = 0; t < rows.tails_.size(); ++t) {
      const RowList::Tail& tail = rows.tails_[t];
      const float ratio = tail.unit / rows.units_[tail.row];  // a power of two: exact
      const float* from = c + (rows.size() + static_cast<int>(t)) * kStripRows;
      for (int n = 0; n < kStripRows; ++n) c[tail.row * kStripRows + n] += from[n] * ratio;
    }
  }
}

}  // namespace tilewright::cpu
