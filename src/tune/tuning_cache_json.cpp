// TuningCache -> JSON, and back. Nothing in the text is believed: names, ranges and numbers are checked.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "schedule/schedule_json.hpp"
#include "tilewright/tuning_cache.hpp"

namespace tilewright {
namespace {

using Json = nlohmann::ordered_json;
using schedule::Fields;

constexpr const char* kSchema = "tilewright.cache/1";
constexpr int kMostSamples = 1 << 20;
constexpr int kMostRank = 1 << 20;

Json to_json(const TunedOn& on) {
  return {{"name", on.device}, {"arch", to_string(on.arch)}, {"sm_count", on.sm_count}, {"driver", on.driver}};
}

Json to_json(const Trial& trial) {
  Json json = {{"rank", trial.rank},
               {"us", trial.us},
               {"samples", trial.samples},
               {"predicted_us", trial.predicted_us},
               {"error", trial.error.empty() ? Json() : Json(trial.error)}};
  json["schedule"] = schedule::schedule_json(trial.schedule);
  return json;
}

Json to_json(const GemmProblem& problem) {
  return {{"gemm", to_string(problem.gemm)},
          {"tokens", problem.tokens},
          {"n", problem.n},
          {"k", problem.k},
          {"precision", to_string(problem.precision)},
          {"epilogue", to_string(problem.epilogue)},
          {"rows", schedule::rows_json(problem.rows)}};
}

Json to_json(const TuningEntry& entry) {
  Json trials = Json::array();
  for (const Trial& trial : entry.trials) trials.push_back(to_json(trial));
  return {{"device", to_json(entry.on)},
          {"version", entry.on.version},
          {"problem", to_json(entry.problem)},
          {"noise", entry.noise},
          {"pin", entry.pin ? Json(to_string(*entry.pin)) : Json()},
          {"trials", std::move(trials)}};
}

/// Entries of one machine and model stand together, by tokens.
bool before(const TuningEntry& a, const TuningEntry& b) {
  const auto key = [](const TuningEntry& e) {
    const GemmProblem& p = e.problem;
    return std::tie(e.on.device, e.on.sm_count, e.on.driver, e.on.version, p.n, p.k, p.gemm, p.precision, p.epilogue,
                    p.tokens);
  };
  if (key(a) != key(b)) return key(a) < key(b);
  const auto fewer = [](const RowsHistogram::Bin& x, const RowsHistogram::Bin& y) {
    return std::tie(x.rows, x.experts) < std::tie(y.rows, y.experts);
  };
  const auto& rows = a.problem.rows.bins;
  const auto& others = b.problem.rows.bins;
  if (std::lexicographical_compare(rows.begin(), rows.end(), others.begin(), others.end(), fewer)) return true;
  if (std::lexicographical_compare(others.begin(), others.end(), rows.begin(), rows.end(), fewer)) return false;
  return a.on.arch < b.on.arch;
}

Result<TunedOn> read_on(const Fields& entry) {
  TILEWRIGHT_ASSIGN(const Fields device, entry.object("device"));
  TunedOn on;
  TILEWRIGHT_ASSIGN(on.device, device.text("name"));
  TILEWRIGHT_ASSIGN(on.arch, device.name<Arch>("arch", find_arch));
  TILEWRIGHT_ASSIGN(on.sm_count, device.small("sm_count", 1, 1 << 20));
  TILEWRIGHT_ASSIGN(on.driver, device.text("driver"));
  TILEWRIGHT_ASSIGN(on.version, entry.text("version"));
  return on;
}

Result<Trial> read_trial(const Fields& fields) {
  Trial trial;
  TILEWRIGHT_ASSIGN(trial.rank, fields.small("rank", 0, kMostRank));
  TILEWRIGHT_ASSIGN(trial.us, fields.amount("us"));
  TILEWRIGHT_ASSIGN(trial.samples, fields.small("samples", 0, kMostSamples));
  TILEWRIGHT_ASSIGN(trial.predicted_us, fields.amount("predicted_us"));
  if (fields.given("error")) {
    TILEWRIGHT_ASSIGN(trial.error, fields.text("error"));
  }
  if ((trial.samples > 0) != (trial.us > 0)) {
    return fail(ErrorCode::corrupt, fmt::format("{} has {} samples of {} us", fields.path(), trial.samples, trial.us));
  }
  TILEWRIGHT_ASSIGN(const Fields schedule, fields.object("schedule"));
  TILEWRIGHT_ASSIGN(trial.schedule, schedule::read_schedule(schedule));
  return trial;
}

Result<TuningEntry> read_entry(const Fields& fields) {
  TuningEntry entry;
  TILEWRIGHT_ASSIGN(entry.on, read_on(fields));
  TILEWRIGHT_ASSIGN(const Fields problem, fields.object("problem"));
  TILEWRIGHT_ASSIGN(entry.problem, schedule::read_problem(problem));
  TILEWRIGHT_ASSIGN(entry.noise, fields.number("noise", 0.0, 1.0));
  if (fields.given("pin")) {
    TILEWRIGHT_ASSIGN(entry.pin, fields.name<SchedulePattern>("pin", parse_schedule_pattern));
  }
  TILEWRIGHT_TRY(fields.each("trials", [&](const Fields& element) -> Status {
    TILEWRIGHT_ASSIGN(Trial trial, read_trial(element));
    entry.trials.push_back(std::move(trial));
    return {};
  }));
  return entry;
}

}  // namespace

std::string TuningCache::text() const {
  std::vector<const TuningEntry*> order;
  for (const TuningEntry& entry : entries_) order.push_back(&entry);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return before(*a, *b); });
  Json json = {{"schema", kSchema}, {"bans", Json::array()}, {"entries", Json::array()}};
  for (const ScheduleBan& ban : bans_) {
    json["bans"].push_back({{"device", ban.device}, {"schedule", to_string(ban.pattern)}});
  }
  for (const TuningEntry* entry : order) json["entries"].push_back(to_json(*entry));
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<TuningCache> TuningCache::parse(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return fail(ErrorCode::corrupt, "the text is no JSON");
  TILEWRIGHT_ASSIGN(const Fields fields, Fields::of(json, ""));
  TILEWRIGHT_ASSIGN(const std::string schema, fields.text("schema"));
  if (schema != kSchema) {
    return fail(ErrorCode::corrupt, fmt::format("schema is \"{}\"", schema), fmt::format("only {} is read", kSchema));
  }
  TuningCache cache;
  TILEWRIGHT_TRY(fields.each("bans", [&](const Fields& element) -> Status {
    ScheduleBan ban;
    TILEWRIGHT_ASSIGN(ban.device, element.text("device"));
    TILEWRIGHT_ASSIGN(ban.pattern, element.name<SchedulePattern>("schedule", parse_schedule_pattern));
    cache.ban(ban);
    return {};
  }));
  TILEWRIGHT_TRY(fields.each("entries", [&](const Fields& element) -> Status {
    TILEWRIGHT_ASSIGN(TuningEntry entry, read_entry(element));
    cache.add(std::move(entry));
    return {};
  }));
  return cache;
}

}  // namespace tilewright
