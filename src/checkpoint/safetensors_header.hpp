// The header of a safetensors file: what it says, once every statement has been checked against the file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/safetensors.hpp"

namespace tilewright {

/// Longest JSON header the format allows (MAX_HEADER_SIZE of https://github.com/huggingface/safetensors).
inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;
/// Bytes of the length before the header; the data is aligned to as much.
inline constexpr std::uint64_t kSafetensorsLengthBytes = 8;
/// The one name in a header that is not a tensor.
inline constexpr const char* kSafetensorsMetadata = "__metadata__";

struct SafetensorsEntry {
  DType dtype = DType::other;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  ///< first byte, from the start of the data
  std::uint64_t end = 0;    ///< past the last byte
};

struct SafetensorsHeader {
  std::map<std::string, SafetensorsEntry> tensors;
  std::map<std::string, std::string> metadata;
  std::uint64_t data_offset = 0;  ///< of the data in the file
};

/// Parses and checks the header of a whole file: every range lies in the data, together the ranges cover it without
/// overlap or hole, and each fits its dtype and shape. `file_name` is for the messages; every error is `corrupt`.
Result<SafetensorsHeader> parse_safetensors_header(std::span<const std::uint8_t> file, const std::string& file_name);

/// Elements of a shape; nothing where a size is negative or the product passes 2^63 - 1.
std::optional<std::int64_t> element_count(const std::vector<std::int64_t>& shape);

/// DType by the name that safetensors uses; `other` for a name that this library does not compute with.
DType dtype_from_name(std::string_view name);

/// A name from a file in quotes, on one line and of a bearable length, for a message.
std::string quote_name(std::string_view name);

/// "F32 [2, 3]", cut after a few dimensions, for a message.
std::string describe(DType dtype, const std::vector<std::int64_t>& shape);

}  // namespace tilewright
