#include "tools/tilewright/regret_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "tools/tilewright/regret_figures.hpp"

namespace tilewright::cli {
namespace {

using tune::RegretRow;
using tune::RegretSummary;
using Rows = std::vector<const RegretRow*>;

Rows rows_where(const tune::RegretRun& run, const std::function<bool(const RegretRow&)>& wanted) {
  Rows rows;
  for (const RegretRow& row : run.rows) {
    if (row.complete() && wanted(row)) rows.push_back(&row);
  }
  return rows;
}

Json summary_json(const RegretSummary& s) {
  return {{"shapes", s.shapes},
          {"regret_geomean", rounded(s.regret_geomean, 5)},
          {"regret_p95", rounded(s.regret_p95, 5)},
          {"regret_worst", rounded(s.regret_worst, 5)},
          {"top1", rounded(s.top1, 4)},
          {"top3", rounded(s.top3, 4)},
          {"top8", rounded(s.top8, 4)},
          {"regret_top3", rounded(s.regret_top3, 5)},
          {"regret_top8", rounded(s.regret_top8, 5)},
          {"time_mape", rounded(s.time_mape, 4)},
          {"time_p90", rounded(s.time_p90, 4)},
          {"time_bias", rounded(s.time_bias, 4)},
          {"schedules", s.schedules},
          {"all_mape", rounded(s.all_mape, 4)}};
}

Json row_json(const RegretRow& row, bool all) {
  const Trial& choice = row.choice();
  const Trial& fastest = row.trials[row.fastest()];
  Json json = {{"model", row.model},
               {"tp", row.tp},
               {"ep", row.ep},
               {"rows_from", to_string(row.distribution)},
               {"gemm", to_string(row.gemm)},
               {"tokens", row.tokens},
               {"held_out", row.held_out},
               {"chosen", describe(choice.schedule)},
               {"chosen_us", rounded(choice.us, 5)},
               {"predicted_us", rounded(choice.predicted_us, 5)},
               {"fastest", describe(fastest.schedule)},
               {"fastest_us", rounded(fastest.us, 5)},
               {"fastest_rank", row.fastest() + 1},
               {"regret", rounded(row.regret(), 5)},
               {"noise", rounded(row.noise, 3)},
               {"schedules", row.trials.size()}};
  if (!all) return json;
  json["trials"] = Json::array();
  for (const Trial& trial : row.trials) {
    json["trials"].push_back({{"schedule", describe(trial.schedule)},
                              {"us", trial.samples > 0 ? Json(rounded(trial.us, 5)) : Json()},
                              {"predicted_us", rounded(trial.predicted_us, 5)},
                              {"samples", trial.samples},
                              {"error", trial.error.empty() ? Json() : Json(trial.error)}});
  }
  return json;
}

/// The parts of one half that are summed up by themselves.
struct Group {
  std::string name;
  std::function<bool(const RegretRow&)> has;
};

std::vector<Group> groups_of(const tune::RegretRun& run) {
  std::vector<Group> groups = {
      {"gemm1", [](const RegretRow& r) { return r.gemm == GemmId::gemm1; }},
      {"gemm2", [](const RegretRow& r) { return r.gemm == GemmId::gemm2; }},
      {"uniform", [](const RegretRow& r) { return r.distribution == RowDistribution::uniform_random; }},
      {"power law", [](const RegretRow& r) { return r.distribution == RowDistribution::power_law; }},
      {"1 to 15 tokens", [](const RegretRow& r) { return r.tokens < 16; }},
      {"16 to 255 tokens", [](const RegretRow& r) { return r.tokens >= 16 && r.tokens < 256; }},
      {"256 to 2,047 tokens", [](const RegretRow& r) { return r.tokens >= 256 && r.tokens < 2048; }},
      {"2,048 tokens and more", [](const RegretRow& r) { return r.tokens >= 2048; }}};
  std::vector<std::string> models;
  for (const RegretRow& row : run.rows) {
    if (std::find(models.begin(), models.end(), row.model) == models.end()) models.push_back(row.model);
  }
  for (const std::string& model : models) {
    groups.push_back({model, [model](const RegretRow& r) { return r.model == model; }});
  }
  return groups;
}

void add_summary(Table& table, const std::string& half, const std::string& group, const RegretSummary& s) {
  if (s.shapes == 0) return;
  const auto percent = [](double share) { return fmt::format("{:.1f}", 100.0 * share); };
  table.rows.push_back({half, group, fmt::to_string(s.shapes), fmt::format("{:.4f}", s.regret_geomean),
                        fmt::format("{:.4f}", s.regret_p95), fmt::format("{:.4f}", s.regret_worst), percent(s.top1),
                        percent(s.top3), percent(s.top8), fmt::format("{:.4f}", s.regret_top3),
                        fmt::format("{:.4f}", s.regret_top8), percent(s.time_mape), percent(s.time_p90),
                        percent(s.time_bias)});
}

Table summary_table() {
  return {"Regret and errors of predictions",
          {{"half"},
           {"of"},
           {"problems", true},
           {"regret, geometric mean", true},
           {"95th percentile", true},
           {"worst", true},
           {"top 1 %", true},
           {"top 3 %", true},
           {"top 8 %", true},
           {"regret of top 3", true},
           {"regret of top 8", true},
           {"time error %", true},
           {"p90 %", true},
           {"bias %", true}},
          {}};
}

Table rows_table(const RegretAnswer& answer) {
  Table table{"Problems",
              {{"half"},
               {"model"},
               {"tp", true},
               {"ep", true},
               {"rows"},
               {"gemm"},
               {"tokens", true},
               {"chosen us", true},
               {"fastest us", true},
               {"regret %", true},
               {"rank of the fastest", true},
               {"predicted us", true},
               {"time error %", true},
               {"chosen"},
               {"fastest"}},
              {}};
  for (const RegretRow& row : answer.run.rows) {
    if (!row.complete()) continue;
    const Trial& fastest = row.trials[row.fastest()];
    table.rows.push_back({row.held_out ? "held out" : "fitting", row.model, fmt::to_string(row.tp),
                          fmt::to_string(row.ep), to_string(row.distribution), to_string(row.gemm),
                          fmt::to_string(row.tokens), significant(row.choice().us, 4), significant(fastest.us, 4),
                          fmt::format("{:.1f}", 100.0 * (row.regret() - 1.0)), fmt::to_string(row.fastest() + 1),
                          significant(row.choice().predicted_us, 4), fmt::format("{:.1f}", 100.0 * row.time_error()),
                          describe(row.choice().schedule), describe(fastest.schedule)});
  }
  return table;
}

std::string end_words(const RegretAnswer& answer) {
  const tune::RegretRun& run = answer.run;
  const int left_out = run.left_out();
  std::string text = fmt::format("{} of {} problems in {:.0f} s", run.problems - left_out, run.problems, run.seconds);
  if (run.out_of_time) text += ", which was the budget";
  if (run.stopped) text += ", then interrupted";
  if (!run.failure.empty()) text += ", then one that could not be loaded";
  if (left_out > 0) text += fmt::format("; {} left out", left_out);
  if (!answer.predicted_by.empty()) {
    text +=
        fmt::format("; by version {}, choices and predictions by version {}", answer.on.version, answer.predicted_by);
  }
  return text;
}

constexpr const char* kLegend =
    "regret: time of the model's choice over the fastest schedule's, every legal one measured and its numbers "
    "checked;\n"
    "1 is none. top n %: problems whose fastest schedule is among the model's first n; regret of top n: what "
    "measuring\n"
    "those alone would leave. time error: of the predicted time of the choice. Constants of the model may be taken "
    "from\n"
    "the fitting half alone.";

}  // namespace

const char* const kRegretTiming =
    "graph replays of launches, about 0.5 ms each; routings and weight copies rotated; median of 3 to 8 interleaved "
    "samples, of 1 or 2 where a schedule is 1.3 times slower than another";

Report regret_report(const RegretAnswer& answer, Format format) {
  Report report("regret");
  report.title = fmt::format("Regret of the planner on {}", answer.on.device);
  const auto half = [&](bool held_out) {
    return rows_where(answer.run, [=](const RegretRow& row) { return row.held_out == held_out; });
  };
  report.json["device"] = answer.on.device;
  report.json["sm_count"] = answer.on.sm_count;
  report.json["driver"] = answer.on.driver;
  report.json["version"] = answer.on.version;
  report.json["planned_as"] = answer.device.name;
  report.json["predicted_by"] = answer.predicted_by.empty() ? answer.on.version : answer.predicted_by;
  report.json["replayed"] = !answer.predicted_by.empty();
  report.json["timing"] = answer.timing;
  report.json["problems"] = answer.run.problems;
  report.json["measured"] = answer.run.problems - answer.run.left_out();
  report.json["left_out"] = answer.run.left_out();
  report.json["seconds"] = rounded(answer.run.seconds, 4);
  report.json["complete"] = answer.run.left_out() == 0;
  report.json["held_out"] = summary_json(tune::summarize(half(true)));
  report.json["fitting"] = summary_json(tune::summarize(half(false)));
  Table summary = summary_table();
  report.json["groups"] = Json::array();
  for (const bool held_out : {true, false}) {
    const char* name = held_out ? "held out" : "fitting";
    add_summary(summary, name, "all", tune::summarize(half(held_out)));
    for (const Group& group : groups_of(answer.run)) {
      const RegretSummary s = tune::summarize(
          rows_where(answer.run, [&](const RegretRow& row) { return row.held_out == held_out && group.has(row); }));
      if (s.shapes == 0) continue;
      add_summary(summary, name, group.name, s);
      Json json = {{"half", held_out ? "held_out" : "fitting"}, {"group", group.name}};
      json.update(summary_json(s));
      report.json["groups"].push_back(json);
    }
  }
  report.json["rows"] = Json::array();
  for (const RegretRow& row : answer.run.rows) {
    if (row.complete()) report.json["rows"].push_back(row_json(row, answer.all));
  }
  report.json["errors"] = answer.run.errors();
  report.sections.emplace_back(Facts{"",
                                     {{"device", fmt::format("{}, {} SMs, driver {}; planned as {}", answer.on.device,
                                                             answer.on.sm_count, answer.on.driver, answer.device.name)},
                                      {"measured", end_words(answer)},
                                      {"timing", answer.timing}}});
  report.sections.emplace_back(Text{kLegend});
  report.sections.emplace_back(summary);
  for (const std::string& error : answer.run.errors()) report.sections.emplace_back(Text{"FAILED  " + error});
  const Table rows = rows_table(answer);
  if (rows.rows.empty()) return report;
  report.sections.emplace_back(rows);
  if (format == Format::html) add_regret_figures(report, answer.run);
  return report;
}

}  // namespace tilewright::cli
