#include "tools/tilewright/number_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>

namespace tilewright::cli {
namespace {

constexpr std::size_t kMostNumbers = 4096;

// The number that `text` is, entirely; -1 where it is none.
std::int64_t whole_number(const std::string& text) {
  std::int64_t value = -1;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stopped == end && !text.empty() && text.front() != '-' ? value : -1;
}

tl::unexpected<Error> malformed(const std::string& option, const std::string& part) {
  return fail(ErrorCode::invalid_argument, fmt::format("{}: '{}' is not a number or a range", option, part),
              "write 8, 1,8,64, 1..64 or 1..1024x2");
}

Status append(std::vector<int>& numbers, std::int64_t value, const std::string& option, int lowest) {
  if (value < lowest || value > std::numeric_limits<int>::max()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}: {} is outside {}..{}", option, value, lowest, std::numeric_limits<int>::max()));
  }
  if (numbers.size() == kMostNumbers) {
    return fail(ErrorCode::exhausted, fmt::format("{}: more than {} numbers", option, kMostNumbers),
                "use a range with a factor, e.g. 1..65536x2");
  }
  numbers.push_back(static_cast<int>(value));
  return {};
}

// "first..last" or "first..lastxfactor".
Status append_range(std::vector<int>& numbers, const std::string& part, std::size_t dots, const std::string& option,
                    int lowest) {
  const std::size_t cross = part.find('x', dots);
  const std::int64_t first = whole_number(part.substr(0, dots));
  const std::int64_t last =
      whole_number(part.substr(dots + 2, cross == std::string::npos ? std::string::npos : cross - dots - 2));
  const std::int64_t factor = cross == std::string::npos ? 1 : whole_number(part.substr(cross + 1));
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();  // value * factor stays within 64 bits
  if (first < 0 || last < 0 || factor < 0 || factor > kMost) return malformed(option, part);
  if (first > last) {
    return fail(ErrorCode::invalid_argument, fmt::format("{}: the range {} runs backwards", option, part));
  }
  if (cross != std::string::npos && (factor < 2 || first == 0)) {
    return fail(ErrorCode::invalid_argument, fmt::format("{}: the range {} never moves", option, part),
                "start at 1 or more with a factor of 2 or more");
  }
  for (std::int64_t value = first; value <= last; value = cross == std::string::npos ? value + 1 : value * factor) {
    TILEWRIGHT_TRY(append(numbers, value, option, lowest));
  }
  return {};
}

}  // namespace

Result<std::vector<int>> parse_number_list(const std::string& text, const std::string& option, int lowest) {
  std::vector<int> numbers;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, comma - begin);
    begin = comma + 1;
    const std::size_t dots = part.find("..");
    if (dots != std::string::npos) {
      TILEWRIGHT_TRY(append_range(numbers, part, dots, option, lowest));
      continue;
    }
    const std::int64_t value = whole_number(part);
    if (value < 0) return malformed(option, part);
    TILEWRIGHT_TRY(append(numbers, value, option, lowest));
  }
  return numbers;
}

}  // namespace tilewright::cli
