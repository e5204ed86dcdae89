#include "tilewright/schedule_pattern.hpp"

#include <fmt/format.h>

#include <string_view>

namespace tilewright {
namespace {

/// Takes `word` as a T if it is one; `given` says that there was one already.
template <typename T>
bool take(const std::string& word, Result<T> (*parse)(const std::string&), std::optional<T>& into, bool& given) {
  const Result<T> value = parse(word);
  if (!value) return false;
  given = into.has_value();
  into = *value;
  return true;
}

}  // namespace

bool SchedulePattern::matches(const Schedule& s) const {
  return s.tile_m == tile.m && s.tile_n == tile.n && s.tile_k == tile.k &&
         (tile.stages == 0 || tile.stages == s.stages) && split.value_or(s.split.kind) == s.split.kind &&
         token_load.value_or(s.token_load) == s.token_load &&
         consumers.value_or(s.roles.consumers) == s.roles.consumers;
}

Result<SchedulePattern> parse_schedule_pattern(const std::string& text) {
  std::size_t slash = std::min(text.find('/'), text.size());
  SchedulePattern pattern;
  TILEWRIGHT_ASSIGN(pattern.tile, parse_tile(text.substr(0, slash)));
  while (slash < text.size()) {
    const std::size_t end = std::min(text.find('/', slash + 1), text.size());
    const std::string word = text.substr(slash + 1, end - slash - 1);
    slash = end;
    bool given = false;
    const bool known = take(word, &parse_split, pattern.split, given) ||
                       take(word, &parse_token_load, pattern.token_load, given) ||
                       take(word, &parse_consumers, pattern.consumers, given);
    if (known && !given) continue;
    return fail(ErrorCode::invalid_argument,
                fmt::format("\"{}\" in \"{}\" {}", word, text, known ? "is one word too many" : "is not known"),
                "after a tile, one of none, split_k, stream_k; gather, tile_order; cooperative, pingpong");
  }
  return pattern;
}

std::string to_string(const SchedulePattern& pattern) {
  std::string text = to_string(pattern.tile);
  if (pattern.split) text += fmt::format("/{}", to_string(*pattern.split));
  if (pattern.token_load) text += fmt::format("/{}", to_string(*pattern.token_load));
  if (pattern.consumers) text += fmt::format("/{}", to_string(*pattern.consumers));
  return text;
}

}  // namespace tilewright
