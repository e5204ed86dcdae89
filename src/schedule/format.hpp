// Numbers as the planner's messages and renderers write them.
#pragma once

#include <cstdint>
#include <string>

namespace tilewright::schedule {

/// 101376 -> "101,376".
std::string grouped(std::int64_t value);

/// A time in microseconds with four digits: "4.391", "489.5", "12,742".
std::string microseconds(double us);

/// A share in percent: "0.78", "97", "100".
std::string percent(double share);

/// A large byte count: "150.99 MB" (10^6), "612 B" below 10 kB.
std::string bytes(std::int64_t count);

}  // namespace tilewright::schedule
