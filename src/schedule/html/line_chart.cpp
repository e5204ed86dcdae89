#include "schedule/html/line_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "schedule/html/markup.hpp"

namespace tilewright::html {
namespace {

using Out = std::back_insert_iterator<std::string>;

constexpr double kLine = 18;  // from one line of text to the next

struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;

  [[nodiscard]] bool overlaps(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
  [[nodiscard]] bool within(const Box& other) const {
    return left >= other.left && right <= other.right && top >= other.top && bottom <= other.bottom;
  }
};

// A chart laid out on a canvas.
struct Layout {
  Axis x;
  Axis y;
  Box plot;

  [[nodiscard]] bool holds(const ChartPoint& p) const { return x.holds(p.x) && y.holds(p.y); }
  [[nodiscard]] double px(double value) const { return plot.left + x.position(value) * (plot.right - plot.left); }
  [[nodiscard]] double py(double value) const { return plot.bottom - y.position(value) * (plot.bottom - plot.top); }
};

const char* stroke_name(Stroke stroke) {
  switch (stroke) {
    case Stroke::dashed: return "dashed";
    case Stroke::dotted: return "dotted";
    default: return "solid";
  }
}

Layout lay_out(const LineChart& chart, const Canvas& canvas) {
  std::vector<double> xs, ys;
  for (const Series& series : chart.series) {
    for (const ChartPoint& p : series.points) {
      xs.push_back(p.x);
      ys.insert(ys.end(), {p.y, p.low, p.high});
    }
  }
  Layout layout;
  layout.y = fit_axis(chart.y, ys, static_cast<int>((canvas.height - 90) / 36));
  layout.x = fit_axis(chart.x, xs, std::max(2, static_cast<int>((canvas.width - 60) / 70)));
  double labels = 0;
  for (const double tick : layout.y.ticks) labels = std::max(labels, text_width(tick_words(tick)));
  const double half_label = layout.x.ticks.empty() ? 0 : text_width(tick_words(layout.x.ticks.back())) / 2;
  layout.plot = {labels + 10, 30, canvas.width - half_label - 4, canvas.height - 2 * kLine - 8};
  return layout;
}

// Every how many-th tick of the x axis has a label, so that none touches the next.
std::size_t label_stride(const Layout& layout) {
  const auto& ticks = layout.x.ticks;
  const auto touches = [&](std::size_t a, std::size_t b) {
    const double room = layout.px(ticks[b]) - layout.px(ticks[a]);
    return room < 6 + (text_width(tick_words(ticks[a])) + text_width(tick_words(ticks[b]))) / 2;
  };
  std::size_t stride = 1;
  for (std::size_t i = 0; i + stride < ticks.size(); i += stride) {
    while (i + stride < ticks.size() && touches(i, i + stride)) {
      ++stride;
      i = 0;
    }
  }
  return stride;
}

std::string draw_axes(const LineChart& chart, const Layout& layout) {
  const Box& plot = layout.plot;
  std::string grid, labels;
  for (const double tick : layout.y.ticks) {
    const double y = layout.py(tick);
    fmt::format_to(Out(grid), "M{:.1f} {:.1f}H{:.1f}", plot.left, y, plot.right);
    labels += svg_text(plot.left - 6, y + 4.5, "end", tick_words(tick));
  }
  const std::size_t stride = label_stride(layout);
  for (std::size_t i = 0; i < layout.x.ticks.size(); ++i) {
    const double x = layout.px(layout.x.ticks[i]);
    fmt::format_to(Out(grid), "M{:.1f} {:.1f}V{:.1f}", x, plot.top, plot.bottom);
    if (i % stride == 0) labels += svg_text(x, plot.bottom + kLine, "middle", tick_words(layout.x.ticks[i]));
  }
  labels += svg_text(kOverhang, 14, "start", chart.y.label);
  labels += svg_text(plot.right, plot.bottom + 2 * kLine, "end", chart.x.label);
  return fmt::format("<path class=\"grid\" d=\"{}\"/>\n<path class=\"frame\" d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\"/>\n{}",
                     grid, plot.left, plot.top, plot.bottom, plot.right, labels);
}

std::string draw_series(const Series& series, const Layout& layout) {
  std::string line, marks;
  for (const ChartPoint& p : series.points) {
    if (!layout.holds(p)) continue;
    const double x = layout.px(p.x);
    fmt::format_to(Out(line), "{}{:.1f} {:.1f}", line.empty() ? "M" : "L", x, layout.py(p.y));
    if (p.high != p.low && layout.y.holds(p.low) && layout.y.holds(p.high)) {
      fmt::format_to(Out(marks),
                     "<path class=\"spread\" d=\"M{0:.1f} {1:.1f}V{2:.1f}M{3:.1f} {1:.1f}h8M{3:.1f} {2:.1f}h8\"/>\n", x,
                     layout.py(p.low), layout.py(p.high), x - 4);
    }
    marks += svg_marker(series.marker, x, layout.py(p.y), series.hollow);
  }
  if (series.stroke == Stroke::none) line.clear();
  if (!line.empty()) line = fmt::format("<path class=\"line {}\" d=\"{}\"/>\n", stroke_name(series.stroke), line);
  return fmt::format("<g class=\"c{}\">\n{}{}</g>\n", series.colour, line, marks);
}

// Where the label of a point may stand, its baseline's start relative to the point, best first: above a line, right of
// single points, whose bars rise.
std::array<std::pair<double, double>, 3> label_places(const Series& series, double width) {
  if (series.stroke == Stroke::none) return {{{8, 4.5}, {8, 17}, {-width / 2, 19}}};
  return {{{-width / 2, -9}, {-width / 2, 19}, {8, 4.5}}};
}

Box marker_box(const Layout& layout, const ChartPoint& p) {
  return {layout.px(p.x) - 4, layout.py(p.y) - 4, layout.px(p.x) + 4, layout.py(p.y) + 4};
}

// The label of a point at the first place that is inside the plot and free; nothing where there is none.
std::string draw_label(const Series& series, const ChartPoint& p, const Layout& layout, std::vector<Box>& taken) {
  const double width = text_width(p.label);
  for (const auto& [dx, dy] : label_places(series, width)) {
    const double x = layout.px(p.x) + dx;
    const double y = layout.py(p.y) + dy;
    const Box box{x, y - 11, x + width, y + 3};
    const bool free = std::none_of(taken.begin(), taken.end(), [&](const Box& b) { return b.overlaps(box); });
    if (!free || !box.within(layout.plot)) continue;
    taken.push_back(box);
    return svg_text(x, y, "start", p.label);
  }
  return {};
}

std::string draw_labels(const LineChart& chart, const Layout& layout) {
  std::string out;
  std::vector<Box> taken;
  for (const Series& series : chart.series) {
    for (const ChartPoint& p : series.points) {
      if (series.marker != Marker::none && layout.holds(p)) taken.push_back(marker_box(layout, p));
    }
  }
  for (const Series& series : chart.series) {
    for (const ChartPoint& p : series.points) {
      if (!p.label.empty() && layout.holds(p)) out += draw_label(series, p, layout, taken);
    }
  }
  return out;
}

std::string legend_of(const LineChart& chart) {
  std::string out;
  for (const Series& series : chart.series) {
    if (series.name.empty()) continue;
    std::string swatch;
    if (series.stroke != Stroke::none) {
      swatch = fmt::format("<path class=\"line {}\" d=\"M1 7H31\"/>", stroke_name(series.stroke));
    }
    swatch += svg_marker(series.marker, 16, 7, series.hollow);
    fmt::format_to(Out(out),
                   "<li><svg class=\"swatch\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 32 14\" "
                   "aria-hidden=\"true\"><g class=\"c{}\">{}</g></svg> {}</li>\n",
                   series.colour, swatch, escaped(series.name));
  }
  return out;
}

}  // namespace

std::string draw(const LineChart& chart) {
  std::string drawings;
  for (const Canvas& canvas : kCanvases) {
    const Layout layout = lay_out(chart, canvas);
    drawings += open_svg(chart.words, canvas, canvas.height) + draw_axes(chart, layout);
    for (const Series& series : chart.series) drawings += draw_series(series, layout);
    drawings += draw_labels(chart, layout) + "</svg>\n";
  }
  return figure(chart.words, legend_of(chart), drawings);
}

int colour_of(std::size_t i) { return 1 + static_cast<int>(i % kColours); }

Marker marker_of(std::size_t i) {
  static constexpr std::array<Marker, 4> kMarkers = {Marker::circle, Marker::square, Marker::triangle, Marker::diamond};
  return kMarkers[i % kMarkers.size()];
}

}  // namespace tilewright::html
