#include "schedule/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tilewright::schedule {
namespace {

constexpr std::size_t kIndent = 12;
constexpr std::size_t kColumns = 100;

}  // namespace

std::string grouped(std::int64_t value) {
  std::string text = fmt::format("{}", value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

std::string microseconds(double us) {
  if (us >= 1000.0) return grouped(std::llround(us));
  return us >= 10.0 ? fmt::format("{:.1f}", us) : fmt::format("{:.2f}", us);
}

std::string percent(double share) {
  const double value = 100.0 * share;
  return value < 9.95 ? fmt::format("{:.2g}", value) : fmt::format("{:.0f}", value);
}

std::string bytes(std::int64_t count) {
  const auto value = static_cast<double>(count);
  if (value < 1e4) return grouped(count) + " B";
  if (value < 1e6) return fmt::format("{:.1f} kB", value / 1e3);
  return value < 1e9 ? fmt::format("{:.1f} MB", value / 1e6) : fmt::format("{:.3f} GB", value / 1e9);
}

void append_wrapped(std::string& text, const char* label, std::string_view words) {
  std::string line = fmt::format("  {:<{}}", label, kIndent - 2);
  bool empty = true;
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    words.remove_prefix(std::min(word.size() + 1, words.size()));
    if (!empty && line.size() + 1 + word.size() > kColumns) {
      text += line + "\n";
      line.assign(kIndent, ' ');
      empty = true;
    }
    if (!empty) line += ' ';
    line += word;
    empty = false;
  }
  text += line + "\n";
}

}  // namespace tilewright::schedule
