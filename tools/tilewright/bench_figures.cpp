#include "tools/tilewright/bench_figures.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/html/line_chart.hpp"

namespace tilewright::cli {
namespace {

std::string name_of(const BenchRun& run) {
  return fmt::format("{}, tp {}, ep {}", to_string(run.precision), run.tp, run.ep);
}

std::string id_of(const BenchRun& run, const char* what) {
  return fmt::format("{}-{}-tp{}-ep{}", what, to_string(run.precision), run.tp, run.ep);
}

// In the order of tokens, so that lines run from left to right.
std::vector<LayerBenchResult> by_tokens(const BenchRun& run) {
  std::vector<LayerBenchResult> results = run.bench.results;
  std::stable_sort(results.begin(), results.end(),
                   [](const LayerBenchResult& a, const LayerBenchResult& b) { return a.tokens < b.tokens; });
  return results;
}

std::vector<double> token_marks(const std::vector<LayerBenchResult>& results) {
  std::vector<double> marks;
  for (const LayerBenchResult& result : results) {
    if (marks.empty() || marks.back() != result.tokens) marks.push_back(result.tokens);
  }
  return marks;
}

std::string time_chart(const BenchRun& run, const std::vector<LayerBenchResult>& results) {
  html::LineChart chart;
  chart.words = {
      id_of(run, "time"), fmt::format("{}: measured time and roofline", name_of(run)),
      "Time in us against tokens, both logarithmic. Bars reach from the 10th to the 90th percentile of the rounds. "
      "The roofline is the larger of the two dotted lines."};
  chart.x = {"tokens", true, token_marks(results)};
  chart.y = {"us", true, {}};
  html::Series measured{"measured, median", 1, html::Stroke::solid, html::Marker::circle, false, {}};
  html::Series roofline{"roofline", 2, html::Stroke::dashed, html::Marker::square, true, {}};
  html::Series read{"weights at the read bandwidth", 6, html::Stroke::dotted, html::Marker::none, false, {}};
  html::Series dot{"multiply-adds at the dot rate", 4, html::Stroke::dotted, html::Marker::none, false, {}};
  for (const LayerBenchResult& result : results) {
    const double x = result.tokens;
    measured.points.push_back({x, result.us, result.us_low, result.us_high, {}});
    roofline.points.push_back({x, roofline_us(result), 0, 0, {}});
    read.points.push_back({x, result.read_us, 0, 0, {}});
    dot.points.push_back({x, result.dot_us, 0, 0, {}});
  }
  chart.series = {std::move(read), std::move(dot), std::move(roofline), std::move(measured)};
  return html::draw(chart);
}

std::string share_chart(const BenchRun& run, const std::vector<LayerBenchResult>& results) {
  html::LineChart chart;
  chart.words = {
      id_of(run, "share"), fmt::format("{}: share of the roofline", name_of(run)),
      "The roofline's time over the measured one, in percent, against tokens: 100 is as fast as the machine could."};
  chart.x = {"tokens", true, token_marks(results)};
  chart.y = {"%", false, {0, 20, 40, 60, 80, 100}};
  html::Series share{"", 1, html::Stroke::solid, html::Marker::circle, false, {}};
  for (const LayerBenchResult& result : results) {
    share.points.push_back({static_cast<double>(result.tokens), 100 * result.bound_share, 0, 0,
                            fmt::format("{:.0f}", 100 * result.bound_share)});
  }
  chart.series = {std::move(share)};
  return html::draw(chart);
}

}  // namespace

double roofline_us(const LayerBenchResult& result) { return std::max(result.read_us, result.dot_us); }

void add_figures(Report& report, const BenchRun& run) {
  const auto results = by_tokens(run);
  if (results.empty()) return;
  report.sections.emplace_back(Figure{time_chart(run, results)});
  report.sections.emplace_back(Figure{share_chart(run, results)});
}

}  // namespace tilewright::cli
