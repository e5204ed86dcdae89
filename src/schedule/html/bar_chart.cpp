#include "schedule/html/bar_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "schedule/html/line_chart.hpp"
#include "schedule/html/markup.hpp"

namespace tilewright::html {
namespace {

using Out = std::back_insert_iterator<std::string>;

constexpr double kBarHeight = 24;
constexpr double kLine = 18;
constexpr double kGap = 14;

// Names in the order of their colours.
std::vector<std::string> names_of(const BarChart& chart) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const std::string& name : chart.order) {
    const bool used = std::any_of(chart.bars.begin(), chart.bars.end(), [&](const Bar& bar) {
      return std::any_of(bar.parts.begin(), bar.parts.end(), [&](const BarPart& part) { return part.name == name; });
    });
    if (used) add(name);
  }
  for (const Bar& bar : chart.bars) {
    for (const BarPart& part : bar.parts) add(part.name);
  }
  return names;
}

int colour_of_name(const std::vector<std::string>& names, const std::string& name) {
  return colour_of(static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin()));
}

double sum_of(const Bar& bar) {
  double sum = 0;
  for (const BarPart& part : bar.parts) sum += std::max(part.value, 0.0);
  return sum;
}

// A text as long as fits, with an ellipsis where it was cut. It is in the table in full.
std::string cut_to(const std::string& text, double width) {
  if (text_width(text) <= width) return text;
  std::string kept = text;
  while (!kept.empty() && text_width(kept + "…") > width) {
    while ((static_cast<unsigned char>(kept.back()) & 0xC0U) == 0x80U) kept.pop_back();
    kept.pop_back();
  }
  return kept + "…";
}

std::string draw_parts(const BarChart& chart, const Bar& bar, const std::vector<std::string>& names, double width,
                       double top) {
  const double sum = sum_of(bar);
  const double whole = chart.full > 0 ? std::max(chart.full, sum) : sum;
  std::string out =
      fmt::format("<rect class=\"left-over\" x=\"0.5\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n", top,
                  width - 1, kBarHeight);
  double x = 0;
  for (const BarPart& part : bar.parts) {
    if (!(part.value > 0) || !(whole > 0)) continue;
    const double length = part.value / whole * width;
    fmt::format_to(
        Out(out),
        "<g class=\"c{}\"><rect class=\"part\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\"/>",
        colour_of_name(names, part.name), x, top, length, kBarHeight);
    if (text_width(part.name) + 10 <= length) out += svg_text(x + 6, top + 16.5, "start", part.name);
    out += "</g>\n";
    x += length;
  }
  return out;
}

std::string draw_on(const BarChart& chart, const Canvas& canvas, const std::vector<std::string>& names) {
  std::string body;
  double y = 0;
  for (const Bar& bar : chart.bars) {
    const bool one_line = text_width(bar.label) + 16 + text_width(bar.note) <= canvas.width;
    body += svg_text(kOverhang, y + 14, "start", cut_to(bar.label, canvas.width - 2 * kOverhang));
    if (one_line) body += svg_text(canvas.width - kOverhang, y + 14, "end", bar.note);
    body += draw_parts(chart, bar, names, canvas.width, y + kLine + 2);
    y += kLine + 2 + kBarHeight;
    if (!one_line && !bar.note.empty()) {
      body += svg_text(kOverhang, y + 16, "start", cut_to(bar.note, canvas.width - 2 * kOverhang));
      y += kLine;
    }
    y += kGap;
  }
  return open_svg(chart.words, canvas, std::max(y - kGap + 4, 1.0)) + body + "</svg>\n";
}

std::string swatch(const std::string& rectangle, const std::string& name) {
  return fmt::format(
      "<li><svg class=\"swatch square\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 14 14\" "
      "aria-hidden=\"true\">{}</svg> {}</li>\n",
      rectangle, escaped(name));
}

}  // namespace

std::string draw(const BarChart& chart) {
  const auto names = names_of(chart);
  std::string legend;
  for (const std::string& name : names) {
    legend +=
        swatch(fmt::format("<g class=\"c{}\"><rect class=\"part\" x=\"0\" y=\"0\" width=\"14\" height=\"14\"/></g>",
                           colour_of_name(names, name)),
               name);
  }
  if (!chart.left_over.empty()) {
    legend += swatch("<rect class=\"left-over\" x=\"0.5\" y=\"0.5\" width=\"13\" height=\"13\"/>", chart.left_over);
  }
  std::string drawings;
  for (const Canvas& canvas : kCanvases) drawings += draw_on(chart, canvas, names);
  return figure(chart.words, legend, drawings);
}

}  // namespace tilewright::html
