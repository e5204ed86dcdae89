#include "tools/tilewright/bench_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "schedule/html/line_chart.hpp"

namespace tilewright::cli {
namespace {

// The curve's name as an id may hold it.
std::string id_of(const BenchCurve& curve, const char* what) {
  std::string id = fmt::format("{}-{}", what, curve.name);
  for (char& c : id) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '-';
  }
  return id;
}

std::vector<double> token_marks(const BenchCurve& curve) {
  std::vector<double> marks;
  for (const BenchPoint& point : curve.points) {
    if (marks.empty() || marks.back() != point.tokens) marks.push_back(point.tokens);
  }
  return marks;
}

std::string time_chart(const BenchCurve& curve) {
  html::LineChart chart;
  chart.words = {id_of(curve, "time"), fmt::format("{}: measured time and roofline", curve.name),
                 "Time in us against tokens, both logarithmic. Bars reach from the 10th to the 90th percentile. The "
                 "roofline is the larger of the two dotted lines."};
  chart.x = {"tokens", true, token_marks(curve)};
  chart.y = {"us", true, {}};
  html::Series measured{"measured, median", 1, html::Stroke::solid, html::Marker::circle, false, {}};
  html::Series roofline{"roofline", 2, html::Stroke::dashed, html::Marker::square, true, {}};
  html::Series read{curve.read, 6, html::Stroke::dotted, html::Marker::none, false, {}};
  html::Series compute{curve.compute, 4, html::Stroke::dotted, html::Marker::none, false, {}};
  for (const BenchPoint& point : curve.points) {
    const double x = point.tokens;
    measured.points.push_back({x, point.us, point.us_low, point.us_high});
    roofline.points.push_back({x, point.roofline_us(), 0, 0});
    read.points.push_back({x, point.read_us, 0, 0});
    compute.points.push_back({x, point.compute_us, 0, 0});
  }
  chart.series = {std::move(read), std::move(compute), std::move(roofline), std::move(measured)};
  return html::draw(chart);
}

std::string share_chart(const BenchCurve& curve) {
  html::LineChart chart;
  chart.words = {id_of(curve, "share"), fmt::format("{}: share of the roofline", curve.name),
                 "The roofline's time over the measured one, in percent, against tokens: 100 is as fast as the machine "
                 "could."};
  chart.x = {"tokens", true, token_marks(curve)};
  chart.y = {"%", false, {0, 20, 40, 60, 80, 100}};
  html::Series share{"", 1, html::Stroke::solid, html::Marker::circle, false, {}};
  for (const BenchPoint& point : curve.points) {
    const double percent = 100 * point.share;
    share.points.push_back({static_cast<double>(point.tokens), percent, 0, 0, fmt::format("{:.0f}", percent)});
  }
  chart.series = {std::move(share)};
  return html::draw(chart);
}

}  // namespace

void add_figures(Report& report, BenchCurve curve) {
  // In the order of tokens, so that lines run from left to right.
  std::stable_sort(curve.points.begin(), curve.points.end(),
                   [](const BenchPoint& a, const BenchPoint& b) { return a.tokens < b.tokens; });
  report.sections.emplace_back(Figure{time_chart(curve)});
  report.sections.emplace_back(Figure{share_chart(curve)});
}

void add_roofline_columns(Table& table) {
  for (const char* name : {"roofline us", "read us", "compute us"}) table.columns.push_back({name, true});
}

void add_roofline_cells(std::vector<std::string>& row, const BenchPoint& point) {
  for (const double us : {point.roofline_us(), point.read_us, point.compute_us}) row.push_back(significant(us, 4));
}

}  // namespace tilewright::cli
