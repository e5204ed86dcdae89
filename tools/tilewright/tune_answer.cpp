#include "tools/tilewright/tune_answer.hpp"

#include <fmt/format.h>

namespace tilewright::cli {
namespace {

Json trial_json(const Trial& trial) {
  Json json = {{"schedule", describe(trial.schedule)},
               {"us", trial.samples > 0 ? Json(rounded(trial.us)) : Json()},
               {"samples", trial.samples},
               {"predicted_us", rounded(trial.predicted_us)}};
  if (!trial.error.empty()) json["error"] = trial.error;
  return json;
}

Json or_null(const Trial* trial) { return trial == nullptr ? Json() : trial_json(*trial); }

// How much faster the choice is than the default, where both were measured.
std::string gain_words(const tune::TunedGemm& gemm) {
  const Trial* chosen = gemm.chosen();
  const Trial* model = gemm.by_default();
  if (chosen == nullptr || model == nullptr || chosen->samples == 0) return {};
  return fmt::format("{:.1f}", 100.0 * (model->us / chosen->us - 1.0));
}

Json gemm_json(const TunedLayer& layer, const tune::TunedGemm& gemm) {
  Json json = {{"model", layer.layer.model.name},
               {"tp", layer.layer.tp},
               {"ep", layer.layer.ep},
               {"gemm", to_string(gemm.problem.gemm)},
               {"tokens", gemm.problem.tokens},
               {"n", gemm.problem.n},
               {"k", gemm.problem.k},
               {"experts", gemm.problem.rows.experts()},
               {"rows", gemm.problem.rows.total()},
               {"chosen", or_null(gemm.chosen())},
               {"default", or_null(gemm.by_default())},
               {"pinned", gemm.pin.has_value()},
               {"noise", rounded(gemm.race.noise, 3)},
               {"rounds", gemm.race.rounds},
               {"end", to_string(gemm.race.end)}};
  json["trials"] = Json::array();
  for (const Trial& trial : gemm.race.trials) json["trials"].push_back(trial_json(trial));
  return json;
}

void add_row(Table& table, const TunedLayer& layer, const tune::TunedGemm& gemm) {
  const Trial* chosen = gemm.chosen();
  const Trial* model = gemm.by_default();
  const auto us = [](const Trial* trial) {
    return trial == nullptr || trial->samples == 0 ? std::string() : significant(trial->us, 4);
  };
  std::string name = chosen == nullptr ? "none" : describe(chosen->schedule);
  if (gemm.pin) name += " (pinned)";
  table.rows.push_back({layer.layer.model.name, fmt::to_string(layer.layer.tp), fmt::to_string(layer.layer.ep),
                        to_string(gemm.problem.gemm), fmt::to_string(gemm.problem.tokens), us(chosen), us(model),
                        gain_words(gemm), fmt::format("{:.2f}", 100.0 * gemm.race.noise),
                        fmt::to_string(gemm.race.rounds), to_string(gemm.race.end), std::move(name)});
}

Facts facts_of(const TuneAnswer& answer) {
  Facts facts{"",
              {{"device", fmt::format("{}, {} SMs, driver {}", answer.on.device, answer.on.sm_count, answer.on.driver)},
               {"cache", answer.cache}}};
  for (const ScheduleBan& ban : answer.bans) {
    facts.values.emplace_back("banned", fmt::format("{} on {}", to_string(ban.pattern), ban.device));
  }
  for (const TunedLayer& layer : answer.layers) {
    const tune::LayerTuning& tuning = layer.tuning;
    facts.values.emplace_back(
        "tuned",
        fmt::format("{}, tp {}, ep {}: {} of {} problems in {:.1f} s, {}", layer.layer.model.name, layer.layer.tp,
                    layer.layer.ep, tuning.gemms.size(), tuning.problems, tuning.seconds, to_string(tuning.end)));
  }
  return facts;
}

constexpr const char* kLegend =
    "us: median of the schedule that is taken; default us: of the model's choice; gain %: how much longer that one "
    "takes.\n"
    "A schedule is taken in place of the model's choice where it is faster by more than 1 % and more than the noise.";

}  // namespace

Report tune_report(const TuneAnswer& answer) {
  Report report("tune");
  report.json["device"] = answer.on.device;
  report.json["sm_count"] = answer.on.sm_count;
  report.json["driver"] = answer.on.driver;
  report.json["version"] = answer.on.version;
  report.json["cache"] = answer.cache;
  report.json["bans"] = Json::array();
  for (const ScheduleBan& ban : answer.bans) {
    report.json["bans"].push_back({{"device", ban.device}, {"schedule", to_string(ban.pattern)}});
  }
  Table table{"",
              {{"model"},
               {"tp", true},
               {"ep", true},
               {"gemm"},
               {"tokens", true},
               {"us", true},
               {"default us", true},
               {"gain %", true},
               {"noise %", true},
               {"rounds", true},
               {"end"},
               {"schedule"}},
              {}};
  report.json["layers"] = Json::array();
  report.json["results"] = Json::array();
  report.json["errors"] = Json::array();
  for (const TunedLayer& layer : answer.layers) {
    const tune::LayerTuning& tuning = layer.tuning;
    report.json["layers"].push_back({{"model", layer.layer.model.name},
                                     {"tp", layer.layer.tp},
                                     {"ep", layer.layer.ep},
                                     {"rows_from", to_string(layer.layer.rows.distribution)},
                                     {"problems", tuning.problems},
                                     {"measured", tuning.gemms.size()},
                                     {"seconds", rounded(tuning.seconds, 4)},
                                     {"end", to_string(tuning.end)}});
    for (const tune::TunedGemm& gemm : tuning.gemms) {
      report.json["results"].push_back(gemm_json(layer, gemm));
      add_row(table, layer, gemm);
    }
    for (const std::string& error : tuning.errors()) report.json["errors"].push_back(error);
  }
  report.sections.emplace_back(facts_of(answer));
  if (!table.rows.empty()) {
    report.sections.emplace_back(table);
    report.sections.emplace_back(Text{kLegend});
  }
  for (const auto& error : report.json["errors"]) {
    report.sections.emplace_back(Text{"FAILED  " + error.get<std::string>()});
  }
  return report;
}

Exit exit_of(const TuneAnswer& answer) {
  Exit exit = Exit::ok;
  for (const TunedLayer& layer : answer.layers) {
    if (!layer.tuning.errors().empty()) return Exit::wrong_numbers;
    if (layer.tuning.end == tune::TuneEnd::stopped) exit = Exit::failed;
  }
  return exit;
}

}  // namespace tilewright::cli
