#include "tools/tilewright/regret_figures.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include "schedule/html/line_chart.hpp"

namespace tilewright::cli {
namespace {

using tune::RegretRow;

std::vector<double> token_marks(const tune::RegretRun& run) {
  std::set<double> tokens;
  for (const RegretRow& row : run.rows) {
    const auto count = static_cast<std::uint64_t>(row.tokens);
    if ((count & (count - 1)) == 0) tokens.insert(static_cast<double>(count));
  }
  return {tokens.begin(), tokens.end()};
}

std::string chart(const tune::RegretRun& run, const html::ChartWords& words,
                  const std::function<double(const RegretRow&)>& percent) {
  html::LineChart drawn;
  drawn.words = words;
  drawn.x = {"tokens", true, token_marks(run)};
  drawn.y = {"%", false, {}};
  html::Series held{"held out", 1, html::Stroke::none, html::Marker::circle, false, {}};
  html::Series fitting{"fitting", 4, html::Stroke::none, html::Marker::square, true, {}};
  for (const RegretRow& row : run.rows) {
    if (!row.complete()) continue;
    (row.held_out ? held : fitting).points.push_back({static_cast<double>(row.tokens), percent(row), 0, 0});
  }
  for (html::Series* series : {&fitting, &held}) {
    std::stable_sort(series->points.begin(), series->points.end(),
                     [](const html::ChartPoint& a, const html::ChartPoint& b) { return a.x < b.x; });
    if (!series->points.empty()) drawn.series.push_back(std::move(*series));
  }
  return html::draw(drawn);
}

}  // namespace

void add_regret_figures(Report& report, const tune::RegretRun& run) {
  report.sections.emplace_back(Figure{chart(
      run,
      {"regret", "Regret of each problem",
       "How much longer the model's choice takes than the fastest schedule, in percent, against tokens. Points on the "
       "axis are problems in which it is the fastest."},
      [](const RegretRow& row) { return 100.0 * (row.regret() - 1.0); })});
  report.sections.emplace_back(Figure{chart(
      run,
      {"time-error", "Error of each predicted time",
       "Difference of the predicted from the measured time of the model's choice, in percent of the measured one, "
       "whatever its sign, against tokens."},
      [](const RegretRow& row) { return 100.0 * std::abs(row.time_error()); })});
}

}  // namespace tilewright::cli
