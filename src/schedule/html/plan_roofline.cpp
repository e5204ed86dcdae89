// Where each GEMM lies under the roofs of the device: its floor on the roof, its prediction below.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "schedule/format.hpp"
#include "schedule/html/line_chart.hpp"
#include "schedule/html/plan_sections.hpp"
#include "schedule/html/table.hpp"
#include "schedule/plan_words.hpp"

namespace tilewright::html {
namespace {

double flop_per_byte(const Roofline& floor) {
  const auto bytes = static_cast<double>(floor.weight_bytes + floor.activation_bytes);
  return bytes > 0 ? floor.flops / bytes : 0.0;
}

double tflops(const Roofline& floor, double us) { return us > 0 ? floor.flops / us * 1e-6 : 0.0; }

// The peak that the floors of these plans were computed with, TFLOP/s: 0 where it is not known.
double peak_tflops(const GemmPlan& plan) { return tflops(plan.floor, plan.floor.mma_us); }

struct Span {
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
};

// From half of the least intensity to twice the largest one or the ridge, whichever is more.
Span span_of(const Device& device, const std::vector<GemmGroup>& groups) {
  Span span;
  for (const GemmGroup& group : groups) {
    for (const GemmPlan* plan : group.plans) {
      const double at = flop_per_byte(plan->floor);
      const double ridge = device.dram_GBps > 0 ? 1e3 * peak_tflops(*plan) / device.dram_GBps : 0.0;
      if (at > 0) span.low = std::min(span.low, at / 2);
      span.high = std::max({span.high, 2 * at, 2 * ridge});
    }
  }
  return span;
}

// Bandwidth up to the ridge of the highest peak.
Series bandwidth_roof(const char* name, double GBps, Stroke stroke, const Span& span, double peak) {
  const double end = peak > 0 ? std::min(span.high, 1e3 * peak / GBps) : span.high;
  return {fmt::format("{}, {:.0f} GB/s", name, GBps),
          8,
          stroke,
          Marker::none,
          false,
          {{span.low, span.low * GBps * 1e-3}, {end, end * GBps * 1e-3}}};
}

// One roof a precision that occurs.
std::vector<Series> peak_roofs(const Device& device, const std::vector<GemmGroup>& groups, const Span& span) {
  std::vector<Series> roofs;
  std::vector<Precision> seen;
  for (const GemmGroup& group : groups) {
    const GemmPlan& plan = *group.plans.front();
    const Precision precision = plan.problem.precision;
    const double peak = peak_tflops(plan);
    if (peak <= 0 || std::count(seen.begin(), seen.end(), precision) != 0) continue;
    seen.push_back(precision);
    const double ridge =
        std::clamp(device.dram_GBps > 0 ? 1e3 * peak / device.dram_GBps : span.low, span.low, span.high);
    const char* what = device.arch == Arch::cpu ? "dot products measured" : "dense peak";
    roofs.push_back(
        {fmt::format("{} of {}, {} TFLOP/s", what, to_string(precision), tick_words(std::round(peak * 1e3) / 1e3)),
         8,
         seen.size() == 1 ? Stroke::solid : Stroke::dotted,
         Marker::none,
         false,
         {{ridge, peak}, {span.high, peak}}});
  }
  return roofs;
}

// The floor of a GEMM is a point on the roof; a bar falls from it to the prediction.
void add_points(LineChart& chart, const GemmGroup& group, std::size_t i) {
  Series floors{group.name + ", floor", colour_of(i), Stroke::none, marker_of(i), true, {}};
  Series predicted{group.name + ", predicted", colour_of(i), Stroke::none, marker_of(i), false, {}};
  for (const GemmPlan* plan : group.plans) {
    const double x = flop_per_byte(plan->floor);
    const double top = tflops(plan->floor, plan->floor.us());
    floors.points.push_back({x, top, 0, 0, {}});
    if (plan->chosen() == nullptr) continue;
    const double y = tflops(plan->floor, plan->chosen()->cost.predicted_us);
    predicted.points.push_back({x, y, y, top, schedule::grouped(plan->problem.tokens)});
  }
  chart.series.push_back(std::move(predicted));
  chart.series.push_back(std::move(floors));
}

Table table_of(const std::vector<GemmGroup>& groups) {
  Table table{"Roofline, as numbers",
              {{"GEMM"},
               {"tokens", Column::number},
               {"GFLOP", Column::number},
               {"MB moved at least", Column::number},
               {"FLOP/byte", Column::number},
               {"TFLOP/s of the floor", Column::number},
               {"TFLOP/s predicted", Column::number},
               {"floor bound by"},
               {"ridge, rows an expert", Column::number}},
              {}};
  for (const GemmGroup& group : groups) {
    for (const GemmPlan* plan : group.plans) {
      const Roofline& floor = plan->floor;
      const Candidate* chosen = plan->chosen();
      table.add(
          {{group.name},
           {schedule::grouped(plan->problem.tokens)},
           {fmt::format("{:.4g}", floor.flops / 1e9)},
           {fmt::format("{:.1f}", static_cast<double>(floor.weight_bytes + floor.activation_bytes) / 1e6)},
           {fmt::format("{:.4g}", flop_per_byte(floor))},
           {fmt::format("{:.4g}", tflops(floor, floor.us()))},
           {chosen == nullptr ? std::string("none") : fmt::format("{:.4g}", tflops(floor, chosen->cost.predicted_us))},
           {to_string(floor.bound)},
           {floor.rows_at_ridge > 0 ? fmt::format("{:.0f}", floor.rows_at_ridge) : std::string("not known")}});
    }
  }
  return table;
}

}  // namespace

std::string roofline_section(const Plan& plan, const std::vector<GemmGroup>& groups) {
  const Span span = span_of(plan.device, groups);
  if (!(span.high > span.low)) return {};
  double peak = 0;
  for (const GemmGroup& group : groups) peak = std::max(peak, peak_tflops(*group.plans.front()));
  LineChart chart;
  chart.words = {
      "roofline-chart", fmt::format("What {} allows, and what is predicted", plan.device.name),
      "Speed in TFLOP/s against FLOP for each byte that has to move, both logarithmic. A GEMM's floor lies on the "
      "roof; its prediction lies below, joined to it by a bar and labelled with its tokens where there is room."};
  chart.x = {"FLOP/byte", true, {}};
  chart.y = {"TFLOP/s", true, {}};
  for (std::size_t i = 0; i < groups.size(); ++i) add_points(chart, groups[i], i);
  if (plan.device.dram_GBps > 0) {
    const char* name = plan.device.arch == Arch::cpu ? "memory measured" : "DRAM by specification";
    chart.series.push_back(bandwidth_roof(name, plan.device.dram_GBps, Stroke::solid, span, peak));
  }
  if (plan.device.dram_read_GBps > 0 && plan.device.dram_read_GBps < plan.device.dram_GBps) {
    const char* name = plan.device.dram_read_measured ? "DRAM seen to be read" : "DRAM expected to be read";
    chart.series.push_back(bandwidth_roof(name, plan.device.dram_read_GBps, Stroke::dashed, span, peak));
  }
  for (Series& roof : peak_roofs(plan.device, groups, span)) chart.series.push_back(std::move(roof));
  return draw(chart) + render(table_of(groups), "roofline-numbers");
}

}  // namespace tilewright::html
