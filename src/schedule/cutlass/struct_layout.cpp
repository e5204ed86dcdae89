#include "schedule/cutlass/struct_layout.hpp"

#include <algorithm>

namespace tilewright::schedule::cutlass {
namespace {

bool starts_with_one_of(const std::string& name, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return name.compare(0, prefix.size(), prefix) == 0; });
}

}  // namespace

void StructLayout::place(const std::string& name, std::int64_t bytes) {
  if (bytes <= 0) return;
  const bool extends_padding = name == kPadding && !placed_.empty() && placed_.back().name == kPadding;
  if (extends_padding) {
    placed_.back().bytes += bytes;
  } else {
    placed_.push_back({name, end_, bytes, 0});
  }
  end_ += bytes;
}

StructLayout& StructLayout::member(const std::string& name, std::int64_t bytes, std::int64_t align) {
  place(kPadding, align_up(end_, align) - end_);
  place(name, bytes);
  return aligned(align);
}

StructLayout& StructLayout::nested(const std::string& prefix, const StructLayout& inner, std::int64_t align) {
  const std::int64_t strictest = std::max(align, inner.alignment());
  place(kPadding, align_up(end_, strictest) - end_);
  for (const CutlassStorage& part : inner.members()) {
    const bool bare = part.name == kPadding || prefix.empty();
    place(bare ? part.name : prefix + "." + part.name, part.bytes);
  }
  return aligned(strictest);
}

StructLayout& StructLayout::aligned(std::int64_t align) {
  alignment_ = std::max(alignment_, align);
  return *this;
}

std::int64_t StructLayout::size() const { return align_up(std::max<std::int64_t>(end_, 1), alignment_); }

std::vector<CutlassStorage> StructLayout::members() const {
  StructLayout whole = *this;
  whole.place(kPadding, size() - end_);
  return whole.placed_;
}

void reserve(std::vector<CutlassStorage>& storage, const std::string& name, std::int64_t bytes) {
  const auto found = std::find_if(storage.begin(), storage.end(), [&](const auto& part) { return part.name == name; });
  if (found != storage.end()) {
    found->reserved += bytes;
    return;
  }
  if (bytes == 0) return;
  const std::int64_t end = storage.empty() ? 0 : storage.back().offset + storage.back().bytes;
  storage.push_back({name, end, 0, bytes});
}

void reserve_carveout(std::vector<CutlassStorage>& storage, const std::vector<std::string>& prefixes,
                      std::int64_t bytes) {
  for (CutlassStorage& part : storage) {
    if (!starts_with_one_of(part.name, prefixes)) continue;
    const std::int64_t share = std::min(bytes, part.bytes);
    part.reserved += share;
    bytes -= share;
  }
  reserve(storage, "carveout_rest", bytes);
}

std::int64_t reserved_bytes(const std::vector<CutlassStorage>& storage) {
  std::int64_t sum = 0;
  for (const CutlassStorage& part : storage) sum += part.reserved;
  return sum;
}

}  // namespace tilewright::schedule::cutlass
