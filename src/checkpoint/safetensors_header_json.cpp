#include "checkpoint/safetensors_header_json.hpp"

#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tilewright {
namespace {

// Where in the grammar the next event belongs; `*_value` waits for the value of a key.
enum class Place {
  document,
  names,
  metadata_value,
  metadata,
  metadata_text,
  tensor_value,
  fields,
  dtype_value,
  shape_value,
  shape,
  offsets_value,
  offsets,
  end,
};

const char* expected_at(Place place) {
  switch (place) {
    case Place::document: return "the header is not a JSON object";
    case Place::metadata_value: return "the metadata are not an object";
    case Place::metadata_text: return "is not a string";
    case Place::tensor_value: return "is not an object with dtype, shape and data_offsets";
    case Place::dtype_value: return "dtype is not a string";
    case Place::shape_value:
    case Place::shape: return "shape is not an array of whole numbers from 0 to 2^63 - 1";
    case Place::offsets_value:
    case Place::offsets: return "data_offsets is not an array of two whole numbers from 0 to 2^63 - 1";
    case Place::names:
    case Place::metadata:
    case Place::fields:
    case Place::end: break;
  }
  return "the header is not the JSON of a safetensors file";
}

class HeaderEvents final : public nlohmann::json_sax<nlohmann::json> {
 public:
  SafetensorsHeader& header() { return header_; }
  [[nodiscard]] const std::string& cause() const { return cause_; }

  bool null() override { return place_ == Place::metadata_value ? go(Place::names) : refuse(); }
  bool boolean(bool /*value*/) override { return refuse(); }
  bool number_integer(number_integer_t /*negative*/) override { return refuse(); }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return refuse(); }
  bool binary(binary_t& /*value*/) override { return refuse(); }

  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) return refuse();
    if (place_ == Place::shape) {
      entry_.shape.push_back(static_cast<std::int64_t>(value));
      return true;
    }
    if (place_ != Place::offsets || offsets_read_ == offsets_.size()) return refuse();
    offsets_[offsets_read_++] = value;
    return true;
  }

  bool string(string_t& text) override {
    if (place_ == Place::dtype_value) {
      entry_.dtype = dtype_from_name(text);
      return go(Place::fields);
    }
    if (place_ != Place::metadata_text) return refuse();
    if (!header_.metadata.emplace(key_, text).second)
      return refuse_with("metadata key {} is there twice", quote_name(key_));
    return go(Place::metadata);
  }

  bool start_object(std::size_t /*elements*/) override {
    switch (place_) {
      case Place::document: return go(Place::names);
      case Place::metadata_value: return go(Place::metadata);
      case Place::tensor_value: return go(Place::fields);
      default: return refuse();
    }
  }

  bool key(string_t& name) override {
    switch (place_) {
      case Place::names: return start_name(name);
      case Place::metadata: key_ = name; return go(Place::metadata_text);
      case Place::fields: return start_field(name);
      default: return refuse();
    }
  }

  bool end_object() override {
    switch (place_) {
      case Place::names: return go(Place::end);
      case Place::metadata: return go(Place::names);
      case Place::fields: return finish_tensor();
      default: return refuse();
    }
  }

  bool start_array(std::size_t /*elements*/) override {
    switch (place_) {
      case Place::shape_value: return go(Place::shape);
      case Place::offsets_value: return go(Place::offsets);
      default: return refuse();
    }
  }

  bool end_array() override {
    if (place_ == Place::offsets && offsets_read_ != offsets_.size()) return refuse();
    return place_ == Place::shape || place_ == Place::offsets ? go(Place::fields) : refuse();
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return refuse_with("the header is not JSON at byte {}", position);
  }

 private:
  bool go(Place place) {
    place_ = place;
    return true;
  }

  template <typename... Args>
  bool refuse_with(fmt::format_string<Args...> format, Args&&... args) {
    cause_ = fmt::format(format, std::forward<Args>(args)...);
    return false;
  }

  bool refuse() {
    const char* expected = expected_at(place_);
    if (place_ == Place::metadata_text) return refuse_with("metadata key {} {}", quote_name(key_), expected);
    if (place_ >= Place::tensor_value && place_ != Place::end) {
      return refuse_with("tensor {}: {}", quote_name(name_), expected);
    }
    return refuse_with("{}", expected);
  }

  bool start_name(const string_t& name) {
    if (name == kSafetensorsMetadata) {
      if (std::exchange(metadata_seen_, true)) return refuse_with("{} is there twice", kSafetensorsMetadata);
      return go(Place::metadata_value);
    }
    if (header_.tensors.count(name) != 0) return refuse_with("tensor {} is there twice", quote_name(name));
    name_ = name;
    entry_ = {};
    offsets_read_ = 0;
    dtype_seen_ = shape_seen_ = offsets_seen_ = false;
    return go(Place::tensor_value);
  }

  bool start_field(const string_t& name) {
    bool* seen = nullptr;
    Place place = Place::fields;
    if (name == "dtype") {
      seen = &dtype_seen_;
      place = Place::dtype_value;
    } else if (name == "shape") {
      seen = &shape_seen_;
      place = Place::shape_value;
    } else if (name == "data_offsets") {
      seen = &offsets_seen_;
      place = Place::offsets_value;
    } else {
      return refuse_with("tensor {}: unknown field {}", quote_name(name_), quote_name(name));
    }
    if (std::exchange(*seen, true)) return refuse_with("tensor {}: {} is there twice", quote_name(name_), name);
    return go(place);
  }

  bool finish_tensor() {
    const char* missing = !dtype_seen_ ? "dtype" : !shape_seen_ ? "shape" : !offsets_seen_ ? "data_offsets" : nullptr;
    if (missing != nullptr) return refuse_with("tensor {} has no {}", quote_name(name_), missing);
    entry_.begin = offsets_[0];
    entry_.end = offsets_[1];
    header_.tensors.emplace(name_, std::move(entry_));
    return go(Place::names);
  }

  SafetensorsHeader header_;
  std::string cause_;
  Place place_ = Place::document;
  std::string key_;         // of the metadata entry being read
  std::string name_;        // of the tensor being read
  SafetensorsEntry entry_;  // the tensor being read
  std::array<std::uint64_t, 2> offsets_{};
  std::size_t offsets_read_ = 0;
  bool metadata_seen_ = false;
  bool dtype_seen_ = false;
  bool shape_seen_ = false;
  bool offsets_seen_ = false;
};

}  // namespace

tl::expected<SafetensorsHeader, std::string> read_header_json(std::string_view text) {
  // nlohmann's lexer takes a NUL byte for the end of its input and skips a byte order mark; the format has neither.
  if (text.empty() || text.front() != '{') return tl::unexpected<std::string>("the header does not begin with {");
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return tl::unexpected<std::string>(fmt::format("the header is not JSON at byte {}", nul));
  }
  HeaderEvents events;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &events)) return tl::unexpected<std::string>(events.cause());
  return std::move(events.header());
}

}  // namespace tilewright
