// A chart of lines and points over two axes.
#pragma once

#include <string>
#include <vector>

#include "schedule/html/axis.hpp"
#include "schedule/html/svg.hpp"

namespace tilewright::html {

struct ChartPoint {
  double x = 0;
  double y = 0;
  double low = 0;  ///< a bar is drawn from low to high; none where both are 0
  double high = 0;
  std::string label{};  ///< written beside the point where there is room
};

enum class Stroke { none, solid, dashed, dotted };

struct Series {
  std::string name;  ///< in the legend; empty: not listed there
  int colour = 1;    ///< 1 to 8; 0: faint
  Stroke stroke = Stroke::solid;
  Marker marker = Marker::none;
  bool hollow = false;
  std::vector<ChartPoint> points;  ///< in the order in which the line joins them
};

struct LineChart {
  ChartWords words;
  AxisWish x;
  AxisWish y;
  std::vector<Series> series;
};

/// The chart as a figure. What an axis cannot show (zero on a logarithmic one) is left out.
std::string draw(const LineChart& chart);

/// Colours repeat after as many.
inline constexpr int kColours = 8;

/// The colour, and the marker, of the i-th of several lines.
int colour_of(std::size_t i);
Marker marker_of(std::size_t i);

}  // namespace tilewright::html
