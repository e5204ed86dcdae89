#include "schedule/json_fields.hpp"

#include <fmt/format.h>

namespace tilewright::schedule {
namespace {

tl::unexpected<Error> wrong(const std::string& place, const std::string& what) {
  return fail(ErrorCode::corrupt, fmt::format("{} {}", place, what));
}

}  // namespace

Result<Fields> Fields::of(const Json& value, std::string path) {
  if (!value.is_object()) return wrong(path.empty() ? "the document" : path, "is no object");
  return Fields(value, std::move(path));
}

bool Fields::given(const char* key) const {
  const auto found = object_->find(key);
  return found != object_->end() && !found->is_null();
}

Result<const Fields::Json*> Fields::at(const char* key) const {
  const auto found = object_->find(key);
  if (found == object_->end()) return wrong(place(key), "is missing");
  return &*found;
}

Result<const Fields::Json*> Fields::array_at(const char* key) const {
  TILEWRIGHT_ASSIGN(const Json* value, at(key));
  if (!value->is_array()) return wrong(place(key), "is no array");
  return value;
}

Result<std::int64_t> Fields::integer(const char* key, std::int64_t least, std::int64_t most) const {
  TILEWRIGHT_ASSIGN(const Json* value, at(key));
  // An unsigned value past the signed range must not wrap into it.
  const bool fits =
      value->is_number_integer() &&
      (!value->is_number_unsigned() || value->get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX));
  if (!fits || value->get<std::int64_t>() < least || value->get<std::int64_t>() > most) {
    return wrong(place(key), fmt::format("is no whole number from {} to {}", least, most));
  }
  return value->get<std::int64_t>();
}

Result<int> Fields::small(const char* key, int least, int most) const {
  TILEWRIGHT_ASSIGN(const std::int64_t value, integer(key, least, most));
  return static_cast<int>(value);
}

Result<double> Fields::number(const char* key, double least, double most) const {
  TILEWRIGHT_ASSIGN(const Json* value, at(key));
  if (!value->is_number() || !(value->get<double>() >= least && value->get<double>() <= most)) {
    return wrong(place(key), fmt::format("is no number from {} to {}", least, most));
  }
  return value->get<double>();
}

Result<std::string> Fields::text(const char* key) const {
  TILEWRIGHT_ASSIGN(const Json* value, at(key));
  if (!value->is_string()) return wrong(place(key), "is no text");
  return value->get<std::string>();
}

Result<bool> Fields::boolean(const char* key) const {
  TILEWRIGHT_ASSIGN(const Json* value, at(key));
  if (!value->is_boolean()) return wrong(place(key), "is neither true nor false");
  return value->get<bool>();
}

Result<Fields> Fields::object(const char* key) const {
  TILEWRIGHT_ASSIGN(const Json* value, at(key));
  return of(*value, place(key));
}

}  // namespace tilewright::schedule
