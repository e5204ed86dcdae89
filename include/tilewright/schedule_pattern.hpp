// SchedulePattern: some schedules by what a person would call them, to pin or to ban.
#pragma once

#include <optional>
#include <string>

#include "tilewright/result.hpp"
#include "tilewright/schedule.hpp"

namespace tilewright {

/// Every schedule of a tile that agrees with what else is given.
struct SchedulePattern {
  TileSpec tile;
  std::optional<SplitKind> split;
  std::optional<TokenLoad> token_load;
  std::optional<Consumers> consumers;

  [[nodiscard]] bool matches(const Schedule& schedule) const;
};

/// "256x8x256", "256x8x256:5/stream_k", "128x240x128/gather": a tile, with its stages if you like, and words of a
/// split, a way to load tokens or to share tiles, each after a slash and at most one of a kind. `invalid_argument`
/// otherwise.
Result<SchedulePattern> parse_schedule_pattern(const std::string& text);
std::string to_string(const SchedulePattern& pattern);

}  // namespace tilewright
