#include "tools/tilewright/run_answer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/tilewright/layer_schedules.hpp"

namespace tilewright::cli {
namespace {

std::pair<std::string, std::string> machine_fact(const RunAnswer& answer) {
  if (answer.how.backend == Backend::cuda)
    return {"device", fmt::format("{}, {} SMs; {}", answer.machine, answer.sm_count, describe(answer.how))};
  return {"cpu", fmt::format("{}, {} threads, {}", answer.machine, answer.threads, answer.isa)};
}

std::string percent(double part, double whole) { return whole > 0 ? fmt::format("{:.0f}", 100 * part / whole) : "-"; }

Facts layer_facts(const RunOptions& options, const LoadedLayer& layer, const RunAnswer& answer) {
  const ExpertWeights& weights = layer.weights;
  return {"",
          {{"layer", fmt::format("{} of {}", layer.number, options.source.checkpoint)},
           {"model", fmt::format("{}: hidden {}, inner {}, top-{} of {} experts, {}", layer.facts.name, weights.hidden,
                                 weights.intermediate, layer.facts.routing.top_k, weights.global_experts,
                                 to_string(layer.facts.activation.kind))},
           {"experts here", fmt::format("{} to {}", weights.first_expert,
                                        weights.first_expert + static_cast<int>(weights.experts.size()) - 1)},
           {"router", layer.router ? "the checkpoint's" : "random logits"},
           machine_fact(answer),
           {"packed",
            fmt::format("{} in {:.0f} ms", readable_bytes(static_cast<double>(answer.packed_bytes)), answer.pack_ms)}}};
}

Table rows_table(const RunOptions& options, const RunAnswer& answer) {
  Table table{"",
              {{"precision"},
               {"tokens", true},
               {"rows", true},
               {"experts", true},
               {"us", true},
               {"weights GB/s", true},
               {"machine GB/s", true},
               {"bandwidth %", true},
               {"GFLOP/s", true},
               {"bound"},
               {"roofline %", true}},
              {}};
  if (options.verify) {
    table.columns.push_back({"max rel err", true});
    table.columns.push_back({"verified"});
  }
  for (const RunRow& row : answer.rows) {
    const LayerTiming& timing = row.timing;
    table.rows.push_back({to_string(row.precision), fmt::to_string(row.tokens), fmt::to_string(timing.work.rows),
                          fmt::to_string(timing.work.active_experts), significant(timing.us),
                          significant(timing.weight_GBps), significant(timing.read_GBps),
                          percent(timing.weight_GBps, timing.read_GBps), significant(timing.tflops * 1e3), timing.bound,
                          fmt::format("{:.0f}", 100 * timing.bound_share)});
    if (row.verification) {
      table.rows.back().push_back(fmt::format("{:.2e}", row.verification->max_rel_err));
      table.rows.back().push_back(row.verification->passed ? "yes" : "NO");
    }
  }
  return table;
}

// The kernels of each row, where they are the planner's choice for its tokens.
std::optional<Table> schedules_table(const RunAnswer& answer) {
  Table table{"Kernels", {{"tokens", true}, {"gemm1"}, {"gemm2"}}, {}};
  for (const RunRow& row : answer.rows) {
    if (!row.timing.schedules) continue;
    table.rows.push_back(
        {fmt::to_string(row.tokens), describe(row.timing.schedules->gemm1), describe(row.timing.schedules->gemm2)});
  }
  if (table.rows.empty()) return std::nullopt;
  return table;
}

constexpr const char* kCpuLegend =
    "Weights are read once for each active expert; the machine's GB/s are measured between the runs. bound: what the\n"
    "roofline says is slower, reading the weights or multiplying (dot); roofline %: its time over the measured one.";

constexpr const char* kGpuLegend =
    "us: of one layer on the device, without copies from and to the host, in replays of CUDA graphs. bound: what the\n"
    "roofline says is slower, reading weights, x and y or multiplying (matrix), at rates measured before; roofline %:\n"
    "its time over the measured one.";

std::string verification_legend(const RunAnswer& answer) {
  std::string text = "max rel err: against the reference in double, over a token's largest output; at most";
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    const Precision precision = answer.rows[i].precision;
    if (i > 0 && precision == answer.rows[i - 1].precision) continue;
    text += fmt::format("{} {:.2e} for {}", i == 0 ? "" : ",", verification_tolerance(precision, answer.how.backend),
                        to_string(precision));
  }
  return text + ".";
}

Json row_json(const RunRow& row) {
  const LayerTiming& timing = row.timing;
  Json json = {{"precision", to_string(row.precision)},
               {"tokens", row.tokens},
               {"rows", timing.work.rows},
               {"active_experts", timing.work.active_experts},
               {"weight_bytes", timing.work.weight_bytes},
               {"us", rounded(timing.us)},
               {"rounds", timing.rounds},
               {"weight_GBps", rounded(timing.weight_GBps)},
               {"tflops", rounded(timing.tflops)},
               {"read_GBps", rounded(timing.read_GBps)},
               {"bound", timing.bound},
               {"bound_share", rounded(timing.bound_share)}};
  if (timing.schedules) {
    json["matrix_tflops"] = rounded(timing.matrix_tflops);
    json.update(schedules_json(*timing.schedules));
  } else {
    json["dot_GMACps"] = rounded(timing.dot_GMACps);
  }
  if (row.verification) {
    json["verified"] = row.verification->passed;
    json["max_rel_err"] = row.verification->max_rel_err;
    json["tolerance"] = row.verification->tolerance;
    json["worst_token"] = row.verification->worst_token;
  }
  return json;
}

Json findings_json(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) list.push_back({{"code", finding.code}, {"message", finding.message}});
  return list;
}

// The fields of one result stand at the top as well, so that a script that asks one question need not index.
Json answer_json(const RunOptions& options, const LoadedLayer& layer, const RunAnswer& answer, Json json) {
  json["checkpoint"] = options.source.checkpoint;
  json["layer"] = layer.number;
  json["model"] = layer.facts.name;
  json["backend"] = to_string(answer.how.backend);
  if (answer.how.backend == Backend::cuda) {
    json["device"] = answer.machine;
    json["sm_count"] = answer.sm_count;
  } else {
    json["cpu"] = answer.machine;
    json["isa"] = answer.isa;
    json["threads"] = answer.threads;
  }
  json["packed_bytes"] = answer.packed_bytes;
  json["pack_ms"] = rounded(answer.pack_ms);
  json["router"] = layer.router ? "checkpoint" : "random";
  json["findings"] = findings_json(layer.findings);
  if (answer.rows.size() == 1) json.update(row_json(answer.rows.front()));
  if (options.verify) {
    double error = 0;
    for (const RunRow& row : answer.rows) error = std::max(error, row.verification->max_rel_err);
    json["verified"] = answer.verified();
    json["max_rel_err"] = error;
  }
  json["results"] = Json::array();
  for (const RunRow& row : answer.rows) json["results"].push_back(row_json(row));
  return json;
}

}  // namespace

bool RunAnswer::verified() const {
  return std::none_of(rows.begin(), rows.end(),
                      [](const RunRow& row) { return row.verification && !row.verification->passed; });
}

Report run_report(const RunOptions& options, const LoadedLayer& layer, const RunAnswer& answer) {
  Report report("run");
  report.json = answer_json(options, layer, answer, std::move(report.json));
  report.sections.emplace_back(layer_facts(options, layer, answer));
  report.sections.emplace_back(rows_table(options, answer));
  if (auto table = schedules_table(answer)) report.sections.emplace_back(*std::move(table));
  std::string legend = answer.how.backend == Backend::cuda ? kGpuLegend : kCpuLegend;
  if (options.verify) legend += fmt::format("\n{}", verification_legend(answer));
  report.sections.emplace_back(Text{legend});
  for (const Finding& finding : layer.findings) report.sections.emplace_back(Text{"note: " + finding.message});
  return report;
}

}  // namespace tilewright::cli
