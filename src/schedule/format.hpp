// Numbers as the planner's messages and renderers write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright::schedule {

/// 101376 -> "101,376".
std::string grouped(std::int64_t value);

/// A time in microseconds: "4.39", "489.5", "12,742".
std::string microseconds(double us);

/// A share in percent: "0.78", "97", "100".
std::string percent(double share);

/// A large byte count: "150.99 MB" (10^6), "612 B" below 10 kB.
std::string bytes(std::int64_t count);

/// Appends `words` after a label, broken between words at 100 columns and indented under the first.
void append_wrapped(std::string& text, const char* label, std::string_view words);

}  // namespace tilewright::schedule
