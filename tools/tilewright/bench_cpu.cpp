// tilewright bench on the CPU.
#include <fmt/format.h>

#include <algorithm>

#include "tilewright/layer_bench.hpp"
#include "tools/tilewright/bench_figures.hpp"
#include "tools/tilewright/bench_verb.hpp"

namespace tilewright::cli {
namespace {

// The figures of one precision on one rank.
struct Run {
  Precision precision = Precision::w4a16;
  int tp = 1;
  int ep = 1;
  LayerBench bench;
};

Result<std::vector<Run>> run_all(const BenchOptions& options, const BenchPlan& plan, LayerBenchOptions how) {
  std::vector<Run> runs;
  Progress progress;
  for (const int tp : plan.tps) {
    for (const int ep : plan.eps) {
      for (const Precision precision : plan.precisions) {
        progress.show(fmt::format("{}, tp {}, ep {}, {}: about {:.0f} s", plan.model.name, tp, ep, to_string(precision),
                                  options.seconds * static_cast<double>(how.tokens.size())));
        how.tp = tp;
        how.ep = ep;
        how.precision = precision;
        TILEWRIGHT_ASSIGN(LayerBench bench, bench_layer(plan.model, how));
        runs.push_back({precision, tp, ep, std::move(bench)});
      }
    }
  }
  return runs;
}

Json context_json(TokenSpread spread, const std::vector<Run>& runs) {
  const LayerBenchContext& first = runs.front().bench.context;
  Json json = {{"cpu", first.cpu},
               {"isa", first.isa},
               {"threads", first.threads},
               {"read_GBps", 0.0},
               {"spread", to_string(spread)}};
  double read_GBps = 0;
  Json ranks = Json::array();
  for (const Run& run : runs) {
    const LayerBenchContext& context = run.bench.context;
    read_GBps = std::max(read_GBps, context.read_GBps);
    ranks.push_back({{"precision", to_string(run.precision)},
                     {"tp", run.tp},
                     {"ep", run.ep},
                     {"read_GBps", rounded(context.read_GBps)},
                     {"dot_instruction", context.dot_instruction},
                     {"dot_GMACps", rounded(context.dot_GMACps)},
                     {"dots_per_mac", context.dots_per_mac},
                     {"packed_bytes", context.packed_bytes},
                     {"model_bytes", context.model_bytes},
                     {"peak_rss_bytes", context.peak_rss_bytes}});
  }
  json["read_GBps"] = rounded(read_GBps);
  json["ranks"] = ranks;
  return json;
}

Json result_json(const Run& run, const LayerBenchResult& result) {
  return {{"model", result.model},
          {"tokens", result.tokens},
          {"precision", to_string(result.precision)},
          {"tp", run.tp},
          {"ep", run.ep},
          {"rows", result.rows},
          {"active_experts", result.active_experts},
          {"weight_bytes", result.weight_bytes},
          {"rounds", result.rounds},
          {"us", rounded(result.us)},
          {"us_low", rounded(result.us_low)},
          {"us_high", rounded(result.us_high)},
          {"weight_GBps", rounded(result.weight_GBps)},
          {"tflops", rounded(result.tflops)},
          {"read_us", rounded(result.read_us)},
          {"dot_us", rounded(result.dot_us)},
          {"bound", result.bound},
          {"bound_share", rounded(result.bound_share)}};
}

std::string name_of(const Run& run) {
  return fmt::format("{}, tp {}, ep {}", to_string(run.precision), run.tp, run.ep);
}

BenchPoint point_of(const LayerBenchResult& result) {
  return {result.tokens, result.us, result.us_low, result.us_high, result.read_us, result.dot_us, result.bound_share};
}

BenchCurve curve_of(const Run& run) {
  BenchCurve curve{name_of(run), "weights at the read bandwidth", "multiply-adds at the dot rate", {}};
  for (const LayerBenchResult& result : run.bench.results) curve.points.push_back(point_of(result));
  return curve;
}

Facts context_facts(const Run& run) {
  const LayerBenchContext& context = run.bench.context;
  return {name_of(run),
          {{"cpu", fmt::format("{}, {} threads, {}", context.cpu, context.threads, context.isa)},
           {"read", fmt::format("{} GB/s measured", significant(context.read_GBps))},
           {"dot", fmt::format("{} G multiply-adds/s of {} measured; the layer needs {} for each of its own",
                               significant(context.dot_GMACps, 4), context.dot_instruction, context.dots_per_mac)},
           {"memory", fmt::format("{} packed from {} of weights; the process peaked at {}",
                                  readable_bytes(static_cast<double>(context.packed_bytes)),
                                  readable_bytes(static_cast<double>(context.model_bytes)),
                                  readable_bytes(static_cast<double>(context.peak_rss_bytes)))}}};
}

Table results_table(const Run& run, Format format) {
  Table table{"",
              {{"model"},
               {"precision"},
               {"tp", true},
               {"ep", true},
               {"tokens", true},
               {"rows", true},
               {"experts", true},
               {"us", true},
               {"us 10 %", true},
               {"us 90 %", true},
               {"weights GB/s", true},
               {"GFLOP/s", true},
               {"bound"},
               {"share %", true}},
              {}};
  if (format == Format::html) add_roofline_columns(table);
  for (const LayerBenchResult& result : run.bench.results) {
    table.rows.push_back({result.model, to_string(result.precision), fmt::to_string(run.tp), fmt::to_string(run.ep),
                          fmt::to_string(result.tokens), fmt::to_string(result.rows),
                          fmt::to_string(result.active_experts), significant(result.us, 4),
                          significant(result.us_low, 4), significant(result.us_high, 4),
                          significant(result.weight_GBps), significant(result.tflops * 1e3), result.bound,
                          fmt::format("{:.0f}", 100 * result.bound_share)});
    if (format == Format::html) add_roofline_cells(table.rows.back(), point_of(result));
  }
  return table;
}

Status refuse_device_options(const BenchOptions& options) {
  if (!options.graph && !options.local) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("{} is of the cuda backend", options.graph ? "--graph" : "--local"),
              "leave it out, or use --backend cuda");
}

}  // namespace

Status add_cpu_bench(const BenchOptions& options, const BenchPlan& plan, Report& report) {
  TILEWRIGHT_TRY(refuse_device_options(options));
  LayerBenchOptions how;
  how.tokens = plan.tokens;
  how.cpu = options.cpu;
  how.seconds = options.seconds;
  if (!options.spread.empty()) {
    TILEWRIGHT_ASSIGN(how.spread, parse_token_spread(options.spread));
  }
  TILEWRIGHT_ASSIGN(const auto runs, run_all(options, plan, how));
  report.title = fmt::format("{} on {}", plan.model.name, runs.front().bench.context.cpu);
  report.json["context"] = context_json(how.spread, runs);
  report.json["results"] = Json::array();
  for (const Run& one : runs) {
    for (const LayerBenchResult& result : one.bench.results) report.json["results"].push_back(result_json(one, result));
    if (options.format != Format::csv) report.sections.emplace_back(context_facts(one));
    if (options.format == Format::html) add_figures(report, curve_of(one));
    report.sections.emplace_back(results_table(one, options.format));
  }
  // On a page it is read before the charts.
  report.sections.insert(
      options.format == Format::html ? report.sections.begin() : report.sections.end(),
      Text{"share: the roofline's time over the measured one. The roofline is the larger of the active experts' "
           "weights\n"
           "at the read bandwidth and the multiply-adds at the dot rate, both measured in the same rounds."});
  return {};
}

}  // namespace tilewright::cli
