#include "checkpoint/safetensors_header.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "checkpoint/safetensors_header_json.hpp"

namespace tilewright {
namespace {

struct DTypeFacts {
  DType dtype;
  const char* name;
  int bytes;
};

// https://github.com/huggingface/safetensors, `enum Dtype`: those whose elements fill whole bytes.
constexpr std::array kDTypes = {
    DTypeFacts{DType::f64, "F64", 8},         DTypeFacts{DType::f32, "F32", 4},
    DTypeFacts{DType::f16, "F16", 2},         DTypeFacts{DType::bf16, "BF16", 2},
    DTypeFacts{DType::i64, "I64", 8},         DTypeFacts{DType::i32, "I32", 4},
    DTypeFacts{DType::i16, "I16", 2},         DTypeFacts{DType::i8, "I8", 1},
    DTypeFacts{DType::u8, "U8", 1},           DTypeFacts{DType::u16, "U16", 2},
    DTypeFacts{DType::u32, "U32", 4},         DTypeFacts{DType::u64, "U64", 8},
    DTypeFacts{DType::boolean, "BOOL", 1},    DTypeFacts{DType::f8_e4m3, "F8_E4M3", 1},
    DTypeFacts{DType::f8_e5m2, "F8_E5M2", 1}, DTypeFacts{DType::f8_e8m0, "F8_E8M0", 1},
};

tl::unexpected<Error> corrupt(const std::string& file_name, const std::string& cause) {
  return fail(ErrorCode::corrupt, fmt::format("{}: {}", file_name, cause), "download or export the file again");
}

// The range, dtype and shape of one tensor, against the `data_bytes` behind the header; empty where they are right.
std::string entry_fault(const std::string& name, const SafetensorsEntry& entry, std::uint64_t data_bytes) {
  if (entry.begin > entry.end) {
    return fmt::format("tensor {} begins at byte {} and ends before it, at {}", quote_name(name), entry.begin,
                       entry.end);
  }
  if (entry.end > data_bytes) {
    return fmt::format("tensor {} ends at byte {}, {} past the data's {} bytes", quote_name(name), entry.end,
                       entry.end - data_bytes, data_bytes);
  }
  const auto elements = element_count(entry.shape);
  if (!elements) {
    return fmt::format("tensor {}: the elements of {} pass 2^63 - 1", quote_name(name),
                       describe(entry.dtype, entry.shape));
  }
  const auto size = static_cast<std::uint64_t>(size_of(entry.dtype));
  const std::uint64_t bytes = entry.end - entry.begin;
  if (size != 0 && (bytes % size != 0 || bytes / size != static_cast<std::uint64_t>(*elements))) {
    return fmt::format("tensor {} has {} bytes, which do not fit {}: {} elements of {}", quote_name(name), bytes,
                       describe(entry.dtype, entry.shape), *elements, size);
  }
  return {};
}

// Ranges must follow each other from the first to the last byte of the data; empty where they do.
std::string coverage_fault(const SafetensorsHeader& header, std::uint64_t data_bytes) {
  using Named = std::map<std::string, SafetensorsEntry>::value_type;
  std::vector<const Named*> order;
  order.reserve(header.tensors.size());
  for (const Named& tensor : header.tensors) order.push_back(&tensor);
  std::stable_sort(order.begin(), order.end(), [](const Named* a, const Named* b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });
  std::uint64_t covered = 0;
  const Named* previous = nullptr;
  for (const Named* tensor : order) {
    const std::uint64_t begin = tensor->second.begin;
    if (begin < covered) {
      return fmt::format("tensors {} and {} overlap by {} bytes", quote_name(previous->first),
                         quote_name(tensor->first), std::min(covered, tensor->second.end) - begin);
    }
    if (begin > covered) {
      return fmt::format("{} bytes before tensor {} belong to no tensor", begin - covered, quote_name(tensor->first));
    }
    covered = tensor->second.end;
    previous = tensor;
  }
  if (covered < data_bytes) return fmt::format("the last {} bytes belong to no tensor", data_bytes - covered);
  return {};
}

}  // namespace

const char* to_string(DType dtype) {
  for (const DTypeFacts& facts : kDTypes) {
    if (facts.dtype == dtype) return facts.name;
  }
  return "other";
}

int size_of(DType dtype) {
  for (const DTypeFacts& facts : kDTypes) {
    if (facts.dtype == dtype) return facts.bytes;
  }
  return 0;
}

DType dtype_from_name(std::string_view name) {
  for (const DTypeFacts& facts : kDTypes) {
    if (facts.name == name) return facts.dtype;
  }
  return DType::other;
}

std::optional<std::int64_t> element_count(const std::vector<std::int64_t>& shape) {
  std::int64_t product = 1;
  for (const std::int64_t size : shape) {
    if (size < 0 || (size != 0 && product > std::numeric_limits<std::int64_t>::max() / size)) return std::nullopt;
    product *= size;
  }
  return product;
}

std::string quote_name(std::string_view name) {
  constexpr std::size_t kLongest = 200;
  std::size_t length = std::min(name.size(), kLongest);
  // Not inside a UTF-8 sequence: its continuation bytes are 10xxxxxx.
  while (length < name.size() && length > 0 && (static_cast<unsigned char>(name[length]) & 0xC0U) == 0x80U) --length;
  std::string text = "'";
  for (const char character : name.substr(0, length)) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte < 0x20 || byte == 0x7F) {
      text += fmt::format("\\x{:02x}", byte);
    } else {
      text += character;
    }
  }
  return text + (length < name.size() ? "...'" : "'");
}

std::string describe(DType dtype, const std::vector<std::int64_t>& shape) {
  constexpr std::size_t kMostDimensions = 8;
  const std::span<const std::int64_t> shown = std::span(shape).first(std::min(shape.size(), kMostDimensions));
  return fmt::format("{} [{}{}]", to_string(dtype), fmt::join(shown, ", "), shown.size() < shape.size() ? ", ..." : "");
}

Result<SafetensorsHeader> parse_safetensors_header(std::span<const std::uint8_t> file, const std::string& file_name) {
  if (file.size() < kSafetensorsLengthBytes) {
    return corrupt(file_name, fmt::format("{} bytes, too few for the {} of a header's length", file.size(),
                                          kSafetensorsLengthBytes));
  }
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kSafetensorsLengthBytes; ++i) length |= static_cast<std::uint64_t>(file[i]) << (8 * i);
  const std::uint64_t behind = file.size() - kSafetensorsLengthBytes;
  if (length > kMaxSafetensorsHeader) {
    return corrupt(file_name,
                   fmt::format("a header of {} bytes, above the format's limit of {}", length, kMaxSafetensorsHeader));
  }
  if (length > behind) {
    return corrupt(file_name, fmt::format("a header of {} bytes, and only {} behind its length", length, behind));
  }
  const auto text = file.subspan(kSafetensorsLengthBytes, length);
  auto header = read_header_json({reinterpret_cast<const char*>(text.data()), text.size()});
  if (!header) return corrupt(file_name, header.error());
  header->data_offset = kSafetensorsLengthBytes + length;
  const std::uint64_t data_bytes = file.size() - header->data_offset;
  for (const auto& [name, entry] : header->tensors) {
    if (const std::string fault = entry_fault(name, entry, data_bytes); !fault.empty())
      return corrupt(file_name, fault);
  }
  if (const std::string fault = coverage_fault(*header, data_bytes); !fault.empty()) return corrupt(file_name, fault);
  return std::move(*header);
}

}  // namespace tilewright
