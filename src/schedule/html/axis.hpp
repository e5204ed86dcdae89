// Axes of charts: which range is shown, and where the ticks stand.
#pragma once

#include <string>
#include <vector>

namespace tilewright::html {

/// What an axis is asked to be.
struct AxisWish {
  std::string label;
  bool log = false;           ///< values that are not positive are left out; otherwise the axis begins at zero
  std::vector<double> marks;  ///< ticks to show, ascending; empty: round numbers
};

/// A range with its ticks, ascending and within it.
struct Axis {
  bool log = false;
  double low = 0;
  double high = 1;
  std::vector<double> ticks;

  /// Whether a value can be shown.
  [[nodiscard]] bool holds(double value) const;
  /// 0 at the lower end, 1 at the upper one.
  [[nodiscard]] double position(double value) const;
};

/// The axis that shows all of `values` that it can, with at most `most_ticks` (at least 2) round ticks. Without such a
/// value it is 1 to 10 or 0 to 1.
Axis fit_axis(const AxisWish& wish, const std::vector<double>& values, int most_ticks);

/// A tick's label: "0.05", "20", "4,096".
std::string tick_words(double value);

}  // namespace tilewright::html
