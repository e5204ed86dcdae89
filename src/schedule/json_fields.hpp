// Checked access to the fields of parsed JSON: every error names the place.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tilewright/result.hpp"

namespace tilewright::schedule {

/// A JSON object with the path that leads to it, e.g. "plans[0].chosen". The JSON must outlive it.
class Fields {
 public:
  using Json = nlohmann::json;

  /// `value` must be an object.
  static Result<Fields> of(const Json& value, std::string path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool has(const char* key) const { return object_->contains(key); }
  /// Whether the field is there and not null.
  [[nodiscard]] bool given(const char* key) const;

  [[nodiscard]] Result<std::int64_t> integer(const char* key, std::int64_t least, std::int64_t most) const;
  [[nodiscard]] Result<int> small(const char* key, int least, int most) const;
  [[nodiscard]] Result<double> number(const char* key, double least, double most) const;
  /// A time in microseconds, or a ratio: 0 to 1e15.
  [[nodiscard]] Result<double> amount(const char* key) const { return number(key, 0.0, 1e15); }
  [[nodiscard]] Result<std::string> text(const char* key) const;
  [[nodiscard]] Result<bool> boolean(const char* key) const;
  [[nodiscard]] Result<Fields> object(const char* key) const;

  /// Calls `read` with each element of an array of objects and stops at the first error.
  template <typename Read>
  Status each(const char* key, Read read) const {
    TILEWRIGHT_ASSIGN(const Json* array, array_at(key));
    for (std::size_t i = 0; i < array->size(); ++i) {
      TILEWRIGHT_ASSIGN(Fields element, of((*array)[i], place(key) + "[" + std::to_string(i) + "]"));
      TILEWRIGHT_TRY(read(element));
    }
    return {};
  }

  /// Likewise with each element of an array of anything, and its place.
  template <typename Read>
  Status each_value(const char* key, Read read) const {
    TILEWRIGHT_ASSIGN(const Json* array, array_at(key));
    for (std::size_t i = 0; i < array->size(); ++i) {
      TILEWRIGHT_TRY(read((*array)[i], place(key) + "[" + std::to_string(i) + "]"));
    }
    return {};
  }

  /// A text that `parse` understands.
  template <typename T>
  Result<T> name(const char* key, Result<T> (*parse)(const std::string&)) const {
    TILEWRIGHT_ASSIGN(const std::string word, text(key));
    auto value = parse(word);
    if (!value) return fail(ErrorCode::corrupt, place(key) + ": " + value.error().cause, value.error().remedy);
    return value;
  }

 private:
  Fields(const Json& object, std::string path) : object_(&object), path_(std::move(path)) {}

  [[nodiscard]] std::string place(const char* key) const { return path_.empty() ? key : path_ + "." + key; }
  [[nodiscard]] Result<const Json*> at(const char* key) const;
  [[nodiscard]] Result<const Json*> array_at(const char* key) const;

  const Json* object_;
  std::string path_;
};

}  // namespace tilewright::schedule
