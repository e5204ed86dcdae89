#include "checkpoint/config_json.hpp"

#include <array>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace tilewright {
namespace {

using Json = nlohmann::json;

// Larger values in a config are typing errors: they are far above any model, and keep products inside 64 bits.
constexpr std::int64_t kLargestInt = std::int64_t{1} << 26U;

std::string replace_python_numbers(const std::string& text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kTokens = {
      {{"Infinity", "1e308"}, {"NaN", "null"}}};
  std::string out;
  out.reserve(text.size());
  bool in_string = false;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (in_string && c == '\\' && i + 1 < text.size()) {
      out.append(text, i, 2);
      i += 2;
      continue;
    }
    if (c == '"') in_string = !in_string;
    std::size_t consumed = 0;
    if (!in_string && (c == 'I' || c == 'N')) {
      for (const auto& [token, replacement] : kTokens) {
        if (std::string_view(text).substr(i, token.size()) != token) continue;
        out.append(replacement);
        consumed = token.size();
      }
    }
    if (consumed == 0) {
      out.push_back(c);
      consumed = 1;
    }
    i += consumed;
  }
  return out;
}

tl::unexpected<Error> wrong_type(const std::string& key, const Json& value, const char* wanted) {
  std::string shown = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (shown.size() > 40) shown = shown.substr(0, 40) + "...";
  return fail(ErrorCode::corrupt, fmt::format("config key {} is {}, not {}", key, shown, wanted),
              "correct the value in config.json");
}

struct KeyValue {
  const char* key = nullptr;
  const Json* value = nullptr;
};

KeyValue first_present(const Json& object, std::initializer_list<const char*> keys) {
  if (!object.is_object()) return {};
  for (const char* key : keys) {
    const auto found = object.find(key);
    if (found != object.end() && !found->is_null()) return {key, &*found};
  }
  return {};
}

}  // namespace

Result<Json> parse_json_object(const std::string& text, const std::string& what) {
  const std::string standard = replace_python_numbers(text);
  try {
    Json json = Json::parse(standard);
    if (json.is_object()) return json;
    return fail(ErrorCode::corrupt, fmt::format("{} holds a JSON {}, not an object", what, json.type_name()),
                "give a Hugging Face config.json");
  } catch (const Json::parse_error& error) {
    return fail(ErrorCode::corrupt, fmt::format("{} is not JSON: it breaks off at byte {}", what, error.byte),
                "check that the file is complete");
  } catch (const Json::exception& error) {  // a number past the range of a double
    return fail(ErrorCode::corrupt, fmt::format("{} cannot be read: {}", what, error.what()),
                "check the numbers in the file");
  }
}

const Json* find_key(const Json& object, std::initializer_list<const char*> keys) {
  return first_present(object, keys).value;
}

Result<std::optional<int>> find_int(const Json& object, std::initializer_list<const char*> keys, int minimum) {
  const KeyValue found = first_present(object, keys);
  if (found.value == nullptr) return std::optional<int>();
  if (!found.value->is_number_integer()) return wrong_type(found.key, *found.value, "a whole number");
  const bool too_large =
      found.value->is_number_unsigned() && found.value->get<std::uint64_t>() > static_cast<std::uint64_t>(kLargestInt);
  if (too_large || found.value->get<std::int64_t>() < minimum) {
    return wrong_type(found.key, *found.value, fmt::format("in {}..{}", minimum, kLargestInt).c_str());
  }
  return std::optional<int>(found.value->get<int>());
}

Result<std::optional<float>> find_float(const Json& object, std::initializer_list<const char*> keys) {
  const KeyValue found = first_present(object, keys);
  if (found.value == nullptr) return std::optional<float>();
  if (!found.value->is_number() || !std::isfinite(found.value->get<float>())) {
    return wrong_type(found.key, *found.value, "a finite number");
  }
  return std::optional<float>(found.value->get<float>());
}

Result<std::optional<bool>> find_bool(const Json& object, std::initializer_list<const char*> keys) {
  const KeyValue found = first_present(object, keys);
  if (found.value == nullptr) return std::optional<bool>();
  if (!found.value->is_boolean()) return wrong_type(found.key, *found.value, "true or false");
  return std::optional<bool>(found.value->get<bool>());
}

std::string find_string(const Json& object, std::initializer_list<const char*> keys) {
  const KeyValue found = first_present(object, keys);
  return found.value != nullptr && found.value->is_string() ? found.value->get<std::string>() : std::string();
}

Result<std::string> read_text_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (in) text << in.rdbuf();
  if (!in || in.bad()) return fail(ErrorCode::io, "cannot read " + path, "check that the file exists and is readable");
  return std::move(text).str();
}

}  // namespace tilewright
