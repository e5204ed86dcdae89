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
  dot_unit_ = cpu::dot_unit(rows.format());
  records_.push_back(rows.row(index));
  units_.push_back(rows.unit(index));
}

std::int64_t StripDot::rows_a_pass(const KernelSet& kernels, std::size_t row_bytes) {
  // Three fifths of the 512 KB that a core of the last decade's servers has at least; the rest is for the panel, the
  // accumulators and the weights on their way. Fewer than 16 rows would not pay for expanding a panel.
  constexpr std::int64_t kRowBudget = 320 * 1024;
  constexpr std::int64_t kMinRows = 16;
  // Every processor with AMX has 2 MB; whole pairs of row blocks keep its tiles full.
  constexpr std::int64_t kTileBudget = 768 * 1024;
  constexpr std::int64_t kPairRows = 2 * kTileBlockRows;
  const auto bytes = static_cast<std::int64_t>(row_bytes);
  if (kernels.tile_dot != nullptr) return std::max<std::int64_t>(1, kTileBudget / bytes / kPairRows) * kPairRows;
  return std::max(kMinRows, kRowBudget / bytes);
}

void StripDot::set_rows(const RowList& rows, int groups, WeightWalk walk) {
  rows_ = &rows;
  walk_ = walk;
  record_rows_ = rows.record_rows();
  pointers_ = rows.records_;
  for (const RowList::Tail& tail : rows.tails_) pointers_.push_back(tail.records);
  if (walk == WeightWalk::stream || kernels_->tile_dot == nullptr) return;
  const std::int64_t blocks = (record_rows_ + kTileBlockRows - 1) / kTileBlockRows;
  std::uint8_t* tiles = tiles_.reserve(blocks * kTileBlockRows * groups * kGroupK * 2);
  kernels_->gather_tiles(pointers_.data(), record_rows_, groups, tiles);
}

void StripDot::multiply(const PackedMatrix& matrix, std::int64_t begin, std::int64_t end) {
  // One strip more, for the tile kernel's pair where the number of strips is odd.
  const auto values = static_cast<std::size_t>((end - begin + 1) * strip_stride());
  if (c_.size() < values) c_.resize(values);
  if (walk_ == WeightWalk::stream) {
    stream(matrix, begin, end);
  } else if (kernels_->tile_dot != nullptr) {
    tiles(matrix, begin, end);
  } else {
    panels(matrix, begin, end);
  }
  if (!rows_->tails_.empty()) add_tails(end - begin);
}

void StripDot::stream(const PackedMatrix& matrix, std::int64_t begin, std::int64_t end) {
  for (std::int64_t s = begin; s < end; ++s) {
    float* c = c_.data() + (s - begin) * strip_stride();
    for (int r = 0; r < record_rows_; r += kernels_->stream_rows) {
      const int count = std::min(kernels_->stream_rows, record_rows_ - r);
      kernels_->stream_dot(matrix.strip(s), matrix.groups(), pointers_.data() + r, count, c + r * kStripRows);
    }
  }
}

/// Panel after panel of K, each for all strips: the rows' part of a panel then stays in L1 from strip to strip.
void StripDot::panels(const PackedMatrix& matrix, std::int64_t begin, std::int64_t end) {
  std::uint8_t* panel = panel_.reserve(panel_bytes(panel_groups_));
  at_panel_.resize(pointers_.size());
  std::fill_n(c_.data(), (end - begin) * strip_stride(), 0.0F);
  for (int first = 0; first < matrix.groups(); first += panel_groups_) {
    const int groups = std::min(panel_groups_, matrix.groups() - first);
    const std::int64_t offset = static_cast<std::int64_t>(first) * kGroupBlocks * record_bytes(kernels_->panel_format);
    for (std::size_t r = 0; r < pointers_.size(); ++r) at_panel_[r] = pointers_[r] + offset;
    for (std::int64_t s = begin; s < end; ++s) {
      const std::uint8_t* weights = matrix.strip(s) + static_cast<std::int64_t>(first) * kGroupBytes;
      const std::int64_t panel_end = std::int64_t{groups} * kGroupBytes;
      // After the last strip the first one's next panel follows, and after that the strip behind them all.
      const bool last_panel = first + groups == matrix.groups();
      const std::uint8_t* next = s + 1 < end ? weights + strip_bytes(matrix.k) : matrix.strip(begin) + panel_end;
      if (s + 1 == end && last_panel) next = weights + panel_end;
      kernels_->expand_panel(weights, groups, panel);
      multiply_panel(panel, groups, next, c_.data() + (s - begin) * strip_stride());
    }
  }
}

void StripDot::tiles(const PackedMatrix& matrix, std::int64_t begin, std::int64_t end) {
  std::uint8_t* panel = panel_.reserve(std::int64_t{matrix.groups()} * kTilePanelBytes);
  kernels_->tile_dot(matrix.strip(begin), static_cast<int>(end - begin), matrix.groups(), tiles_.reserve(0),
                     record_rows_, panel, c_.data());
}

/// All rows over one panel. The next panel's weights are asked for between the rows, a few lines at a time: in one go
/// they would fill the core's queue of outstanding lines and hold up the loads that it is there for.
void StripDot::multiply_panel(const std::uint8_t* panel, int groups, const std::uint8_t* next, float* c) {
  constexpr int kLeastRows = 6;
  const int rows = (kLeastRows + kernels_->panel_rows - 1) / kernels_->panel_rows * kernels_->panel_rows;
  const int parts = std::max(1, record_rows_ / rows);  // the last one takes what is over: few rows alone are slow
  const int lines = groups * kGroupBytes / 64;
  for (int part = 0; part < parts; ++part) {
    for (int line = lines * part / parts; line < lines * (part + 1) / parts; ++line)
      __builtin_prefetch(next + line * 64);
    const int r = part * rows;
    const int count = part + 1 < parts ? rows : record_rows_ - r;
    kernels_->panel_dot(panel, groups, at_panel_.data() + r, count, c + r * kStripRows);
  }
}

void StripDot::add_tails(std::int64_t strips) {
  const RowList& rows = *rows_;
  for (std::int64_t s = 0; s < strips; ++s) {
    float* c = c_.data() + s * strip_stride();
    for (std::size_t t = 0; t < rows.tails_.size(); ++t) {
      const RowList::Tail& tail = rows.tails_[t];
      const float ratio = tail.unit / rows.units_[tail.row];  // a power of two: exact
      const float* from = c + (rows.size() + static_cast<int>(t)) * kStripRows;
      for (int n = 0; n < kStripRows; ++n) c[tail.row * kStripRows + n] += from[n] * ratio;
    }
  }
}

}  // namespace tilewright::cpu
