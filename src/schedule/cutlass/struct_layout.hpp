// Where a C++ compiler puts the members of a struct: the offsets, the padding between them and the padding at the end.
//
// CUTLASS's SharedStorage is a tree of structs with alignas on some members. The layout is computed member by member,
// as the Itanium C++ ABI does for standard-layout types, so that every byte of the total has a name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilewright/cutlass.hpp"

namespace tilewright::schedule::cutlass {

/// Name of the bytes that are nobody's.
inline constexpr const char* kPadding = "padding";

constexpr std::int64_t align_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }
constexpr std::int64_t ceil_div(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

class StructLayout {
 public:
  /// A member of `bytes` at the next multiple of `align`. Of no bytes: nothing (an empty type costs its own byte in
  /// C++; say 1 where it does). A union is one member of its largest part and its strictest alignment.
  StructLayout& member(const std::string& name, std::int64_t bytes, std::int64_t align);

  /// A member struct, its own members named "prefix.member" ("member" without a prefix). `align` is that of an alignas
  /// before it.
  StructLayout& nested(const std::string& prefix, const StructLayout& inner, std::int64_t align = 1);

  /// alignas of the struct itself, or of an empty base (cute::aligned_struct).
  StructLayout& aligned(std::int64_t align);

  [[nodiscard]] std::int64_t alignment() const { return alignment_; }

  /// sizeof: with the padding at the end, and never 0.
  [[nodiscard]] std::int64_t size() const;

  /// The members in order with the padding before, between and after them; adjacent padding is one entry. Bytes sum to
  /// size(). `reserved` is 0 everywhere.
  [[nodiscard]] std::vector<CutlassStorage> members() const;

 private:
  void place(const std::string& name, std::int64_t bytes);

  std::vector<CutlassStorage> placed_;
  std::int64_t end_ = 0;
  std::int64_t alignment_ = 1;
};

/// Says that the builder set `bytes` aside for the member `name`. A name that the struct does not have is added at its
/// end with no bytes: something that was reserved and is not there.
void reserve(std::vector<CutlassStorage>& storage, const std::string& name, std::int64_t bytes);

/// Deals a carve-out of `bytes` to the members whose names start with one of `prefixes`, in their order; what is left
/// over goes to the member "carveout_rest" of no bytes.
void reserve_carveout(std::vector<CutlassStorage>& storage, const std::vector<std::string>& prefixes,
                      std::int64_t bytes);

/// Sum of `reserved`.
std::int64_t reserved_bytes(const std::vector<CutlassStorage>& storage);

}  // namespace tilewright::schedule::cutlass
