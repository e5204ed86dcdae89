// Horizontal bars that are divided into parts.
#pragma once

#include <string>
#include <vector>

#include "schedule/html/svg.hpp"

namespace tilewright::html {

struct BarPart {
  std::string name;  ///< in the legend; the same name has the same colour in every bar
  double value = 0;  ///< a part of no positive size is left out
};

struct Bar {
  std::string label;  ///< above the bar, at its left
  std::string note;   ///< at its right, or below where there is no room
  std::vector<BarPart> parts;
};

struct BarChart {
  ChartWords words;
  std::vector<Bar> bars;
  std::vector<std::string> order;  ///< names in the order of their colours; others follow as they come
  double full = 0;                 ///< what the whole width stands for; 0: each bar fills it
  std::string left_over;           ///< what the rest of the width is called; empty: nothing
};

std::string draw(const BarChart& chart);

}  // namespace tilewright::html
