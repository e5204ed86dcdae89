// Names of enumerators that count from 0: one array for both directions.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "tilewright/result.hpp"

namespace tilewright::schedule {

template <std::size_t N>
using EnumNames = std::array<const char*, N>;

template <typename Enum, std::size_t N>
const char* name_of(const EnumNames<N>& names, Enum value) {
  const auto index = static_cast<std::size_t>(value);
  return index < N ? names[index] : "invalid";
}

/// The enumerator called `name`; `what` is the kind of thing in the error's words.
template <typename Enum, std::size_t N>
Result<Enum> value_of(const EnumNames<N>& names, const std::string& name, const char* what) {
  std::string known;
  for (std::size_t i = 0; i < N; ++i) {
    if (name == names[i]) return static_cast<Enum>(i);
    known += (i == 0 ? "" : ", ") + std::string(names[i]);
  }
  return fail(ErrorCode::invalid_argument, "\"" + name + "\" is no " + what, "known: " + known);
}

}  // namespace tilewright::schedule
