#include "tune/regret_trials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "schedule/json_fields.hpp"
#include "tilewright/planner.hpp"

namespace tilewright::tune {
namespace {

using Json = nlohmann::ordered_json;
using schedule::Fields;

constexpr const char* kSchema = "tilewright.regret-trials/1";
constexpr int kLargestSplit = 1 << 20;
constexpr std::int64_t kMostTokens = std::int64_t{1} << 36U;

int index_of(GemmId gemm) { return gemm == GemmId::gemm1 ? 0 : 1; }

/// Place of `name` in `names`, their number where it is not among them.
std::size_t place_of(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

/// Five digits: more than a time is good for.
double rounded(double us) {
  if (us <= 0) return 0.0;
  const double unit = std::pow(10.0, std::floor(std::log10(us)) - 4.0);
  return unit >= 1.0 ? std::round(us / unit) * unit : std::round(us / unit) / std::round(1.0 / unit);
}

Json gemm_json(const RecordedGemm& gemm) {
  Json json = {{"model", gemm.model},
               {"tp", gemm.tp},
               {"ep", gemm.ep},
               {"rows_from", to_string(gemm.distribution)},
               {"gemm", to_string(gemm.gemm)},
               {"tokens", gemm.tokens},
               {"noise", rounded(gemm.noise)},
               {"us", Json::array()}};
  for (const double us : gemm.us) json["us"].push_back(us > 0 ? Json(rounded(us)) : Json());
  return json;
}

Result<std::vector<std::string>> read_names(const Fields& fields, const char* key) {
  std::vector<std::string> names;
  TILEWRIGHT_TRY(fields.each_value(key, [&](const Fields::Json& value, const std::string& place) -> Status {
    if (!value.is_string()) return fail(ErrorCode::corrupt, place + " is no text");
    names.push_back(value.get<std::string>());
    return {};
  }));
  return names;
}

Result<RecordedGemm> read_gemm(const Fields& fields, const RegretTrials& trials) {
  RecordedGemm gemm;
  TILEWRIGHT_ASSIGN(gemm.model, fields.text("model"));
  TILEWRIGHT_ASSIGN(gemm.tp, fields.small("tp", 1, kLargestSplit));
  TILEWRIGHT_ASSIGN(gemm.ep, fields.small("ep", 1, kLargestSplit));
  TILEWRIGHT_ASSIGN(gemm.distribution, fields.name<RowDistribution>("rows_from", parse_distribution));
  TILEWRIGHT_ASSIGN(const std::string name, fields.text("gemm"));
  if (name != to_string(GemmId::gemm1) && name != to_string(GemmId::gemm2)) {
    return fail(ErrorCode::corrupt, fmt::format("{}.gemm is \"{}\"", fields.path(), name), "it is gemm1 or gemm2");
  }
  gemm.gemm = name == to_string(GemmId::gemm1) ? GemmId::gemm1 : GemmId::gemm2;
  TILEWRIGHT_ASSIGN(gemm.tokens, fields.integer("tokens", 1, kMostTokens));
  TILEWRIGHT_ASSIGN(gemm.noise, fields.number("noise", 0.0, 1.0));
  TILEWRIGHT_TRY(fields.each_value("us", [&](const Fields::Json& value, const std::string& place) -> Status {
    if (value.is_null()) {
      gemm.us.push_back(0.0);
      return {};
    }
    const double us = value.is_number() ? value.get<double>() : 0.0;
    if (!(us > 0.0 && us < 1e15)) return fail(ErrorCode::corrupt, place + " is no time", "microseconds, or null");
    gemm.us.push_back(us);
    return {};
  }));
  const std::size_t schedules = trials.schedules[index_of(gemm.gemm)].size();
  if (gemm.us.size() != schedules) {
    return fail(ErrorCode::corrupt,
                fmt::format("{} has {} times of {} schedules", fields.path(), gemm.us.size(), schedules));
  }
  return gemm;
}

using Key = std::tuple<std::string, int, int, RowDistribution, std::int64_t>;

Key key_of(const LayerProblem& layer) {
  return {layer.model.name, layer.tp, layer.ep, layer.rows.distribution, layer.tokens};
}
Key key_of(const RecordedGemm& gemm) { return {gemm.model, gemm.tp, gemm.ep, gemm.distribution, gemm.tokens}; }

RegretRow row_of(const RecordedGemm& gemm, bool held_out, const GemmPlan& plan,
                 const std::vector<std::string>& schedules) {
  RegretRow row;
  row.model = gemm.model;
  row.tp = gemm.tp;
  row.ep = gemm.ep;
  row.distribution = gemm.distribution;
  row.gemm = gemm.gemm;
  row.tokens = gemm.tokens;
  row.held_out = held_out;
  row.noise = gemm.noise;
  for (const Candidate& candidate : plan.ranked) {
    Trial trial;
    trial.schedule = candidate.schedule;
    trial.rank = static_cast<int>(row.trials.size());
    trial.predicted_us = candidate.cost.predicted_us;
    const std::size_t place = place_of(schedules, describe(candidate.schedule));
    trial.us = place < gemm.us.size() ? gemm.us[place] : 0.0;
    trial.samples = trial.us > 0 ? 1 : 0;
    row.trials.push_back(std::move(trial));
  }
  return row;
}

}  // namespace

RegretTrials recorded(const RegretRun& run, const TunedOn& on, const std::string& timing) {
  RegretTrials trials;
  trials.on = on;
  trials.timing = timing;
  trials.seconds = run.seconds;
  for (const RegretRow& row : run.rows) {
    if (!row.complete()) continue;
    std::vector<std::string>& schedules = trials.schedules[index_of(row.gemm)];
    RecordedGemm gemm{row.model, row.tp, row.ep, row.distribution, row.gemm, row.tokens, row.noise, {}};
    for (const Trial& trial : row.trials) {
      const std::size_t place = place_of(schedules, describe(trial.schedule));
      if (place == schedules.size()) schedules.push_back(describe(trial.schedule));
      gemm.us.resize(std::max(gemm.us.size(), place + 1));
      gemm.us[place] = trial.error.empty() ? trial.us : 0.0;
    }
    trials.gemms.push_back(std::move(gemm));
  }
  for (RecordedGemm& gemm : trials.gemms) gemm.us.resize(trials.schedules[index_of(gemm.gemm)].size());
  return trials;
}

std::string text(const RegretTrials& trials) {
  const Json head = {{"schema", kSchema},
                     {"device", trials.on.device},
                     {"arch", to_string(trials.on.arch)},
                     {"sm_count", trials.on.sm_count},
                     {"driver", trials.on.driver},
                     {"version", trials.on.version},
                     {"timing", trials.timing},
                     {"seconds", rounded(trials.seconds)},
                     {"gemm1_schedules", trials.schedules[0]},
                     {"gemm2_schedules", trials.schedules[1]}};
  constexpr auto kReplace = Json::error_handler_t::replace;
  std::string all = head.dump(1, ' ', false, kReplace);
  all.resize(all.size() - 2);  // the line's end and the brace
  all += ",\n \"gemms\": [";
  const char* between = "\n";
  for (const RecordedGemm& gemm : trials.gemms) {
    all += between + gemm_json(gemm).dump(-1, ' ', false, kReplace);
    between = ",\n";
  }
  return all + "\n]}\n";
}

Result<RegretTrials> parse_regret_trials(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return fail(ErrorCode::corrupt, "the text is no JSON");
  TILEWRIGHT_ASSIGN(const Fields fields, Fields::of(json, ""));
  TILEWRIGHT_ASSIGN(const std::string schema, fields.text("schema"));
  if (schema != kSchema) {
    return fail(ErrorCode::corrupt, fmt::format("schema is \"{}\"", schema), fmt::format("only {} is read", kSchema));
  }
  RegretTrials trials;
  TILEWRIGHT_ASSIGN(trials.on.device, fields.text("device"));
  TILEWRIGHT_ASSIGN(trials.on.arch, fields.name<Arch>("arch", find_arch));
  TILEWRIGHT_ASSIGN(trials.on.sm_count, fields.small("sm_count", 1, 1 << 20));
  TILEWRIGHT_ASSIGN(trials.on.driver, fields.text("driver"));
  TILEWRIGHT_ASSIGN(trials.on.version, fields.text("version"));
  TILEWRIGHT_ASSIGN(trials.timing, fields.text("timing"));
  TILEWRIGHT_ASSIGN(trials.seconds, fields.amount("seconds"));
  TILEWRIGHT_ASSIGN(trials.schedules[0], read_names(fields, "gemm1_schedules"));
  TILEWRIGHT_ASSIGN(trials.schedules[1], read_names(fields, "gemm2_schedules"));
  TILEWRIGHT_TRY(fields.each("gemms", [&](const Fields& element) -> Status {
    TILEWRIGHT_ASSIGN(RecordedGemm gemm, read_gemm(element, trials));
    trials.gemms.push_back(std::move(gemm));
    return {};
  }));
  return trials;
}

Result<RegretRun> replay_regret(const Device& device, const std::vector<RegretShape>& shapes,
                                const RegretTrials& trials) {
  std::map<Key, std::pair<const RegretShape*, Plan>> planned;
  for (const RegretShape& shape : shapes) {
    TILEWRIGHT_ASSIGN(Plan plan, tilewright::plan(device, shape.layer));
    planned.emplace(key_of(shape.layer), std::pair(&shape, std::move(plan)));
  }
  RegretRun run;
  run.problems = 2 * static_cast<int>(shapes.size());
  run.seconds = trials.seconds;
  for (const RecordedGemm& gemm : trials.gemms) {
    const auto found = planned.find(key_of(gemm));
    if (found == planned.end()) {
      return fail(ErrorCode::not_found,
                  fmt::format("{}, tp {}, ep {}, {}, {} tokens is not in the set", gemm.model, gemm.tp, gemm.ep,
                              to_string(gemm.distribution), gemm.tokens),
                  "measure it again with `tilewright regret`");
    }
    const auto index = static_cast<std::size_t>(index_of(gemm.gemm));
    run.rows.push_back(
        row_of(gemm, found->second.first->held_out, found->second.second.plans[index], trials.schedules[index]));
  }
  return run;
}

}  // namespace tilewright::tune
