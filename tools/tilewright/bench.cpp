// tilewright bench: a layer's speed beside what this machine could do.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "tilewright/layer_bench.hpp"
#include "tools/tilewright/bench_figures.hpp"
#include "tools/tilewright/number_list.hpp"
#include "tools/tilewright/problem_options.hpp"
#include "tools/tilewright/progress.hpp"
#include "tools/tilewright/verb.hpp"

namespace tilewright::cli {
namespace {

struct Options {
  std::string backend = "cpu";
  ProblemOptions problem;
  std::string spread = "balanced";
  CpuOptions cpu;
  double seconds = 2.0;
  Format format = Format::text;
};

constexpr const char* kExamples =
    "  tilewright bench --backend cpu --model qwen3-30b-a3b --tokens 1,8,64,512\n"
    "  tilewright bench --model glm-5 --ep 8 --tokens 1..8x2 --precision w4a16,w4a4 --format json\n"
    "  tilewright bench --model qwen3-30b-a3b --tokens 1 --isa avx2 --threads 1\n"
    "  tilewright bench --model glm-5 --ep 8 --tokens 1..512x4 --format html > bench.html";

Result<LayerBenchOptions> bench_options(const Options& options) {
  LayerBenchOptions result;
  TILEWRIGHT_ASSIGN(
      result.tokens,
      parse_number_list(options.problem.tokens.empty() ? "1,8,64,512" : options.problem.tokens, "--tokens", 1));
  TILEWRIGHT_ASSIGN(result.spread, parse_token_spread(options.spread));
  result.cpu = options.cpu;
  result.seconds = options.seconds;
  return result;
}

Result<std::vector<BenchRun>> run_all(const Options& options) {
  if (options.problem.model.empty()) {
    return fail(ErrorCode::invalid_argument, "no model is given", "use --model NAME, e.g. --model qwen3-30b-a3b");
  }
  TILEWRIGHT_ASSIGN([[maybe_unused]] const Backend backend, parse_backend(options.backend));
  TILEWRIGHT_ASSIGN(const ModelFacts model, model_named(options.problem.model));
  TILEWRIGHT_ASSIGN(const auto precisions, precisions_of(options.problem.precision, Precision::w4a16));
  TILEWRIGHT_ASSIGN(const auto tps, parse_number_list(options.problem.tp, "--tp", 1));
  TILEWRIGHT_ASSIGN(const auto eps, parse_number_list(options.problem.ep, "--ep", 1));
  TILEWRIGHT_ASSIGN(LayerBenchOptions how, bench_options(options));
  std::vector<BenchRun> runs;
  Progress progress;
  for (const int tp : tps) {
    for (const int ep : eps) {
      for (const Precision precision : precisions) {
        progress.show(fmt::format("{}, tp {}, ep {}, {}: about {:.0f} s", model.name, tp, ep, to_string(precision),
                                  options.seconds * static_cast<double>(how.tokens.size())));
        how.tp = tp;
        how.ep = ep;
        how.precision = precision;
        TILEWRIGHT_ASSIGN(LayerBench bench, bench_layer(model, how));
        runs.push_back({precision, tp, ep, std::move(bench)});
      }
    }
  }
  return runs;
}

Json context_json(const Options& options, const std::vector<BenchRun>& runs) {
  const LayerBenchContext& first = runs.front().bench.context;
  Json json = {{"cpu", first.cpu},
               {"isa", first.isa},
               {"threads", first.threads},
               {"read_GBps", 0.0},
               {"spread", options.spread}};
  double read_GBps = 0;
  Json ranks = Json::array();
  for (const BenchRun& run : runs) {
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

Json result_json(const BenchRun& run, const LayerBenchResult& result) {
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

Facts context_facts(const BenchRun& run) {
  const LayerBenchContext& context = run.bench.context;
  return {fmt::format("{}, tp {}, ep {}", to_string(run.precision), run.tp, run.ep),
          {{"cpu", fmt::format("{}, {} threads, {}", context.cpu, context.threads, context.isa)},
           {"read", fmt::format("{} GB/s measured", significant(context.read_GBps))},
           {"dot", fmt::format("{} G multiply-adds/s of {} measured; the layer needs {} for each of its own",
                               significant(context.dot_GMACps, 4), context.dot_instruction, context.dots_per_mac)},
           {"memory", fmt::format("{} packed from {} of weights; the process peaked at {}",
                                  readable_bytes(static_cast<double>(context.packed_bytes)),
                                  readable_bytes(static_cast<double>(context.model_bytes)),
                                  readable_bytes(static_cast<double>(context.peak_rss_bytes)))}}};
}

// The terms of the roofline stand in the page's table, since a chart there shows them.
Table results_table(const BenchRun& run, bool terms) {
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
  if (terms) {
    for (const char* name : {"roofline us", "read us", "dot us", "rounds"}) table.columns.push_back({name, true});
  }
  for (const LayerBenchResult& result : run.bench.results) {
    table.rows.push_back({result.model, to_string(result.precision), fmt::to_string(run.tp), fmt::to_string(run.ep),
                          fmt::to_string(result.tokens), fmt::to_string(result.rows),
                          fmt::to_string(result.active_experts), significant(result.us, 4),
                          significant(result.us_low, 4), significant(result.us_high, 4),
                          significant(result.weight_GBps), significant(result.tflops * 1e3), result.bound,
                          fmt::format("{:.0f}", 100 * result.bound_share)});
    if (!terms) continue;
    for (const double us : {roofline_us(result), result.read_us, result.dot_us}) {
      table.rows.back().push_back(significant(us, 4));
    }
    table.rows.back().push_back(fmt::to_string(result.rounds));
  }
  return table;
}

// What the run's part of the report says: its machine, its charts on a page, its figures.
void add_run(Report& report, const BenchRun& run, Format format) {
  for (const LayerBenchResult& result : run.bench.results) report.json["results"].push_back(result_json(run, result));
  if (format != Format::csv) report.sections.emplace_back(context_facts(run));
  if (format == Format::html) add_figures(report, run);
  report.sections.emplace_back(results_table(run, format == Format::html));
}

Result<Outcome> run(const Options& options) {
  TILEWRIGHT_ASSIGN(const auto runs, run_all(options));
  Report report("bench");
  report.title = fmt::format("{} on {}", runs.front().bench.results.front().model, runs.front().bench.context.cpu);
  report.json["version"] = TILEWRIGHT_VERSION;
  report.json["backend"] = options.backend;
  report.json["context"] = context_json(options, runs);
  report.json["results"] = Json::array();
  const Text share{
      "share: the roofline's time over the measured one. The roofline is the larger of the active experts' weights\n"
      "at the read bandwidth and the multiply-adds at the dot rate, both measured in the same rounds."};
  // On a page it is read before the charts.
  if (options.format == Format::html) report.sections.emplace_back(share);
  for (const BenchRun& one : runs) add_run(report, one, options.format);
  if (options.format != Format::html) report.sections.emplace_back(share);
  return Outcome{render(report, options.format)};
}

}  // namespace

Verb add_bench(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      declare_verb(app, "bench", "Time an expert layer with random weights beside this machine's limits", kExamples,
                   options->format);
  declare_model_options(*command, options->problem);
  command->add_option("--precision", options->problem.precision, "w4a16 (default), w4a4, or both with a comma")
      ->option_text("LIST");
  command->add_option("--spread", options->spread, "How tokens choose experts: balanced (default) or uniform")
      ->option_text("HOW");
  command->add_option("--backend", options->backend, "Where to run: cpu (default)")->option_text("NAME");
  command->add_option("--isa", options->cpu.isa, "CPU kernels to use (default: the best here; see 'tilewright info')")
      ->option_text("TIER");
  command->add_option("--threads", options->cpu.threads, "CPU threads (default: one a core)")->option_text("N");
  command->add_option("--seconds", options->seconds, "Measuring time for each row (default 2)")->option_text("S");
  return {command, [options] { return run(*options); }};
}

}  // namespace tilewright::cli
