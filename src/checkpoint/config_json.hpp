// Reading Hugging Face JSON: tolerant of what Python writes, strict about types.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "tilewright/result.hpp"

namespace tilewright {

/// Parses the text of a JSON object. Python writes Infinity and NaN, which JSON does not have: Infinity reads as 1e308
/// (what Nemotron-3-Ultra's config.json has in the place where Super's has Infinity) and NaN as null.
Result<nlohmann::json> parse_json_object(const std::string& text, const std::string& what);

/// The first of `keys` that is present and not null, or null.
const nlohmann::json* find_key(const nlohmann::json& object, std::initializer_list<const char*> keys);

/// The first of `keys` as a whole number >= `minimum`; none where all are absent or null.
Result<std::optional<int>> find_int(const nlohmann::json& object, std::initializer_list<const char*> keys,
                                    int minimum = 0);
Result<std::optional<float>> find_float(const nlohmann::json& object, std::initializer_list<const char*> keys);
Result<std::optional<bool>> find_bool(const nlohmann::json& object, std::initializer_list<const char*> keys);
/// A string; any other type reads as none.
std::string find_string(const nlohmann::json& object, std::initializer_list<const char*> keys);

/// The whole text of a small file.
Result<std::string> read_text_file(const std::string& path);

}  // namespace tilewright
