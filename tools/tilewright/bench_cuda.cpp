// tilewright bench on a GPU.
#include <fmt/format.h>

#include "tilewright/cuda_layer_bench.hpp"
#include "tools/tilewright/bench_figures.hpp"
#include "tools/tilewright/bench_verb.hpp"
#include "tools/tilewright/layer_schedules.hpp"

namespace tilewright::cli {
namespace {

// The figures of one rank.
struct Run {
  Precision precision = Precision::w4a16;
  int tp = 1;
  int ep = 1;
  CudaLayerBench bench;
};

Result<std::vector<Run>> run_all(const BenchPlan& plan, CudaLayerBenchOptions how) {
  std::vector<Run> runs;
  Progress progress;
  for (const Precision precision : plan.precisions) {
    how.kernels = {precision, plan.how.arch, plan.how.emulate_mma};
    for (const int tp : plan.tps) {
      for (const int ep : plan.eps) {
        progress.show(
            fmt::format("{}, {}, tp {}, ep {}: packing, then timing", plan.model.name, to_string(precision), tp, ep));
        how.tp = tp;
        how.ep = ep;
        TILEWRIGHT_ASSIGN(CudaLayerBench bench, bench_cuda_layer(plan.model, how));
        runs.push_back({precision, tp, ep, std::move(bench)});
      }
    }
  }
  return runs;
}

std::string timing_words(const CudaLayerBenchOptions& how) {
  return fmt::format(
      "{} of layers, about 2 ms each; routings and weight copies rotated; y in bf16; median of {} replays",
      how.graph ? "replays of a CUDA graph" : "launches", how.replays);
}

Json context_json(const CudaLayerBenchOptions& how, const BenchPlan& plan, const std::vector<Run>& runs) {
  const CudaLayerBenchContext& first = runs.front().bench.context;
  Json json = {{"device", first.device},
               {"sm_count", first.sm_count},
               {"read_GBps", rounded(first.read_GBps)},
               {"matrix_tflops", rounded(first.matrix_tflops)},
               {"matrix", first.matrix},
               {"kernels", describe(plan.how)},
               {"timing", timing_words(how)},
               {"graph", how.graph},
               {"local", how.local},
               {"spread", to_string(how.spread)}};
  Json ranks = Json::array();
  for (const Run& run : runs) {
    const CudaLayerBenchContext& context = run.bench.context;
    ranks.push_back({{"precision", to_string(run.precision)},
                     {"tp", run.tp},
                     {"ep", run.ep},
                     {"read_GBps", rounded(context.read_GBps)},
                     {"matrix_tflops", rounded(context.matrix_tflops)},
                     {"matrix", context.matrix},
                     {"copies", context.copies},
                     {"packed_bytes", context.packed_bytes},
                     {"model_bytes", context.model_bytes}});
  }
  json["ranks"] = ranks;
  return json;
}

Json result_json(const Run& run, const CudaLayerBenchResult& result) {
  Json json = {{"model", result.model},
               {"gemm", "layer"},
               {"tokens", result.tokens},
               {"precision", to_string(run.precision)},
               {"tp", run.tp},
               {"ep", run.ep},
               {"rows", rounded(result.rows)},
               {"active_experts", rounded(result.active_experts)},
               {"weight_bytes", rounded(result.weight_bytes)},
               {"bytes", rounded(result.bytes)},
               {"layers", result.layers},
               {"replays", result.replays},
               {"us", rounded(result.us)},
               {"us_low", rounded(result.us_low)},
               {"us_high", rounded(result.us_high)},
               {"spread", rounded((result.us_high - result.us_low) / result.us)},
               {"weight_GBps", rounded(result.weight_GBps)},
               {"tflops", rounded(result.tflops)},
               {"read_us", rounded(result.read_us)},
               {"matrix_us", rounded(result.matrix_us)},
               {"bound", result.bound},
               {"share", rounded(result.share)}};
  json.update(schedules_json(result.schedules));
  json["tuned"] = result.tuned;
  return json;
}

std::string name_of(const Run& run) {
  return fmt::format("{}, tp {}, ep {}", to_string(run.precision), run.tp, run.ep);
}

BenchPoint point_of(const CudaLayerBenchResult& result) {
  return {result.tokens, result.us, result.us_low, result.us_high, result.read_us, result.matrix_us, result.share};
}

BenchCurve curve_of(const Run& run) {
  BenchCurve curve{name_of(run), "weights, x and y at the read bandwidth", "multiply-adds at the matrix rate", {}};
  for (const CudaLayerBenchResult& result : run.bench.results) curve.points.push_back(point_of(result));
  return curve;
}

Facts context_facts(const CudaLayerBenchOptions& how, const BenchPlan& plan, const Run& run) {
  const CudaLayerBenchContext& context = run.bench.context;
  return {name_of(run),
          {{"device", fmt::format("{}, {} SMs; {}", context.device, context.sm_count, describe(plan.how))},
           {"read", fmt::format("{} GB/s measured", significant(context.read_GBps, 4))},
           {"matrix", fmt::format("{} TFLOP/s of {} measured", significant(context.matrix_tflops), context.matrix)},
           {"memory", fmt::format("{} packed from {} of weights; copies to rotate: {}",
                                  readable_bytes(static_cast<double>(context.packed_bytes)),
                                  readable_bytes(static_cast<double>(context.model_bytes)), context.copies)},
           {"tokens", fmt::format("{}, among {} experts", to_string(how.spread), how.local ? "this rank's" : "all")},
           {"timing", timing_words(how)}}};
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
               {"TFLOP/s", true},
               {"bound"},
               {"share %", true},
               {"gemm1"},
               {"gemm2"},
               {"chosen by"}},
              {}};
  if (format == Format::html) add_roofline_columns(table);
  for (const CudaLayerBenchResult& result : run.bench.results) {
    table.rows.push_back({result.model, to_string(run.precision), fmt::to_string(run.tp), fmt::to_string(run.ep),
                          fmt::to_string(result.tokens), fmt::format("{:.0f}", result.rows),
                          fmt::format("{:.1f}", result.active_experts), significant(result.us, 4),
                          significant(result.us_low, 4), significant(result.us_high, 4),
                          significant(result.weight_GBps, 4), significant(result.tflops), result.bound,
                          fmt::format("{:.0f}", 100 * result.share), describe(result.schedules.gemm1),
                          describe(result.schedules.gemm2), result.tuned ? "tuning" : "model"});
    if (format == Format::html) add_roofline_cells(table.rows.back(), point_of(result));
  }
  return table;
}

}  // namespace

Status add_cuda_bench(const BenchOptions& options, const BenchPlan& plan, Report& report) {
  CudaLayerBenchOptions how;
  how.tokens = plan.tokens;
  how.graph = options.graph;
  how.local = options.local;
  if (!options.spread.empty()) {
    TILEWRIGHT_ASSIGN(how.spread, parse_token_spread(options.spread));
  }
  TILEWRIGHT_ASSIGN(const std::optional<TuningCache> cache, read_cache(options.cache));
  if (cache) {
    TILEWRIGHT_ASSIGN(how.tuned_on, this_gpu());
    how.cache = &*cache;
  }
  TILEWRIGHT_ASSIGN(const auto runs, run_all(plan, how));
  report.title = fmt::format("{} on {}", plan.model.name, runs.front().bench.context.device);
  report.json["context"] = context_json(how, plan, runs);
  report.json["results"] = Json::array();
  for (const Run& run : runs) {
    for (const CudaLayerBenchResult& result : run.bench.results) {
      report.json["results"].push_back(result_json(run, result));
    }
    if (options.format != Format::csv) report.sections.emplace_back(context_facts(how, plan, run));
    if (options.format == Format::html) add_figures(report, curve_of(run));
    report.sections.emplace_back(results_table(run, options.format));
  }
  // On a page it is read before the charts.
  report.sections.insert(
      options.format == Format::html ? report.sections.begin() : report.sections.end(),
      Text{"share: the roofline's time over the measured one. The roofline is the larger of the active experts' "
           "weights, x\n"
           "and y at the read bandwidth and the multiply-adds at the matrix rate, both measured in the same run."});
  return {};
}

}  // namespace tilewright::cli
