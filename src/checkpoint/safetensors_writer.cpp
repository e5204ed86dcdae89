#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "checkpoint/safetensors_header.hpp"
#include "core/pending_file.hpp"
#include "tilewright/safetensors.hpp"

namespace tilewright {
namespace {

using Order = std::vector<const TensorData*>;

Status check(const TensorData& tensor, const std::string& path) {
  const auto refuse = [&](const std::string& cause, const char* remedy) {
    return fail(ErrorCode::invalid_argument, fmt::format("{}: tensor {} {}", path, quote_name(tensor.name), cause),
                remedy);
  };
  if (tensor.name == kSafetensorsMetadata) return refuse("has the name of the metadata", "give it another name");
  const auto size = static_cast<std::size_t>(size_of(tensor.dtype));
  if (size == 0) return refuse("has no dtype that can be written", "give it one of the dtypes of whole bytes");
  const auto elements = element_count(tensor.shape);
  const std::string what = describe(tensor.dtype, tensor.shape);
  if (!elements) return refuse(fmt::format("has the impossible shape {}", what), "give it sizes from 0 to 2^63 - 1");
  if (tensor.bytes.size() % size != 0 || tensor.bytes.size() / size != static_cast<std::uint64_t>(*elements)) {
    return refuse(
        fmt::format("has {} bytes, which do not fit {}: {} elements of {}", tensor.bytes.size(), what, *elements, size),
        "pass the bytes of the whole tensor");
  }
  return {};
}

// The JSON header for tensors in the order of their data, padded with spaces to a multiple of 8 bytes.
Result<std::string> header_text(const Order& order, const std::map<std::string, std::string>& metadata,
                                const std::string& path) {
  std::string text = "{";
  try {  // dump() of a string that is not UTF-8 throws
    if (!metadata.empty()) text += fmt::format("\"{}\":{}", kSafetensorsMetadata, nlohmann::json(metadata).dump());
    std::uint64_t begin = 0;
    for (const TensorData* tensor : order) {
      const std::uint64_t end = begin + tensor->bytes.size();
      text += fmt::format(R"({}{}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", text.size() > 1 ? "," : "",
                          nlohmann::json(tensor->name).dump(), to_string(tensor->dtype), fmt::join(tensor->shape, ","),
                          begin, end);
      begin = end;
    }
  } catch (const nlohmann::json::exception&) {
    return fail(ErrorCode::invalid_argument, fmt::format("{}: a tensor name or a metadata text is not UTF-8", path),
                "write names and metadata in UTF-8");
  }
  text += "}";
  text.resize((text.size() + kSafetensorsLengthBytes - 1) / kSafetensorsLengthBytes * kSafetensorsLengthBytes, ' ');
  if (text.size() > kMaxSafetensorsHeader) {
    return fail(ErrorCode::exhausted,
                fmt::format("{}: a header of {} bytes, above the format's limit of {}", path, text.size(),
                            kMaxSafetensorsHeader),
                "write the tensors to several files");
  }
  return text;
}

}  // namespace

Status write_safetensors(const std::string& path, const std::vector<TensorData>& tensors,
                         const std::map<std::string, std::string>& metadata) {
  Order order;
  std::set<std::string> names;
  for (const TensorData& tensor : tensors) {
    TILEWRIGHT_TRY(check(tensor, path));
    if (!names.insert(tensor.name).second) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("{}: tensor {} is there twice", path, quote_name(tensor.name)),
                  "give every tensor its own name");
    }
    order.push_back(&tensor);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const TensorData* a, const TensorData* b) { return size_of(a->dtype) > size_of(b->dtype); });
  TILEWRIGHT_ASSIGN(const std::string text, header_text(order, metadata, path));
  std::array<std::uint8_t, kSafetensorsLengthBytes> length{};
  for (std::size_t i = 0; i < length.size(); ++i) length[i] = static_cast<std::uint8_t>(text.size() >> (8 * i));

  PendingFile file(path);
  TILEWRIGHT_TRY(file.create());
  TILEWRIGHT_TRY(file.write(length));
  TILEWRIGHT_TRY(file.write({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}));
  for (const TensorData* tensor : order) TILEWRIGHT_TRY(file.write(tensor->bytes));
  return file.commit();
}

}  // namespace tilewright
