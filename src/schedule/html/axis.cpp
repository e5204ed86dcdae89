#include "schedule/html/axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "schedule/format.hpp"

namespace tilewright::html {
namespace {

// Relative: ticks are computed, and 10^-1 * 5 is not 0.5 to the bit.
constexpr double kSlack = 1e-9;

// The steps of a decade, from dense to sparse.
const std::vector<std::vector<double>>& decade_steps() {
  static const std::vector<std::vector<double>> steps = {{1, 2, 5}, {1, 3}, {1}};
  return steps;
}

// step * 10^exponent for every step, between low and high; with {1} every `stride`-th decade.
std::vector<double> log_ticks(double low, double high, const std::vector<double>& steps, int stride) {
  std::vector<double> ticks;
  const int last = static_cast<int>(std::floor(std::log10(high) + kSlack));
  for (int e = static_cast<int>(std::floor(std::log10(low) + kSlack)); e <= last; ++e) {
    if (e % stride != 0) continue;
    for (const double step : steps) {
      const double value = step * std::pow(10.0, e);
      if (value >= low * (1 - kSlack) && value <= high * (1 + kSlack)) ticks.push_back(value);
    }
  }
  return ticks;
}

// The ends grow to 1, 2 or 5 times a power of ten, so that there are at least two ticks.
void round_ends(Axis& axis) {
  const auto ends = log_ticks(axis.low / 10, axis.high * 10, decade_steps().front(), 1);
  double low = ends.front();
  double high = ends.back();
  for (const double end : ends) {
    if (end <= axis.low * (1 + kSlack)) low = end;
    if (end >= axis.high * (1 - kSlack)) high = std::min(high, end);
  }
  axis.low = low;
  axis.high = high > low ? high : low * 10;
}

void fit_log(Axis& axis, const AxisWish& wish, int most_ticks) {
  if (!wish.marks.empty()) {
    axis.ticks = wish.marks;
    axis.low = std::min(axis.low, wish.marks.front());
    axis.high = std::max(axis.high, wish.marks.back());
    // Room beside the first and the last, so that their marks do not lie on the frame.
    const double room = axis.high > axis.low ? std::pow(axis.high / axis.low, 0.03) : 2.0;
    axis.low /= room;
    axis.high *= room;
    return;
  }
  round_ends(axis);
  for (const auto& steps : decade_steps()) {
    axis.ticks = log_ticks(axis.low, axis.high, steps, 1);
    if (axis.ticks.size() >= 2 && axis.ticks.size() <= static_cast<std::size_t>(most_ticks)) return;
  }
  for (int stride = 2; axis.ticks.size() > static_cast<std::size_t>(most_ticks); ++stride) {
    axis.ticks = log_ticks(axis.low, axis.high, decade_steps().back(), stride);
  }
}

void fit_linear(Axis& axis, const AxisWish& wish, int most_ticks) {
  axis.low = 0;
  if (!wish.marks.empty()) {
    axis.ticks = wish.marks;
    axis.high = std::max(axis.high, wish.marks.back());
    return;
  }
  const double least = axis.high / (most_ticks - 1);
  double step = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {2.0, 2.5, 2.0}) {  // 1, 2, 5, 10
    if (step < least * (1 - kSlack)) step *= factor;
  }
  const double count = std::ceil(axis.high / step * (1 - kSlack));
  axis.high = count * step;
  for (double i = 0; i <= count; ++i) axis.ticks.push_back(i * step);
}

}  // namespace

bool Axis::holds(double value) const { return std::isfinite(value) && (log ? value > 0 : value >= 0); }

double Axis::position(double value) const {
  return log ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
}

Axis fit_axis(const AxisWish& wish, const std::vector<double>& values, int most_ticks) {
  Axis axis{wish.log, wish.log ? 1.0 : 0.0, wish.log ? 10.0 : 1.0, {}};
  bool first = true;
  for (const double value : values) {
    if (!axis.holds(value) || value == 0) continue;
    axis.low = first ? value : std::min(axis.low, value);
    axis.high = first ? value : std::max(axis.high, value);
    first = false;
  }
  if (wish.log) {
    fit_log(axis, wish, most_ticks);
  } else {
    fit_linear(axis, wish, most_ticks);
  }
  return axis;
}

std::string tick_words(double value) {
  const double whole = std::round(value);
  if (std::abs(value) >= 1 && std::abs(value) < 1e15 && std::abs(value - whole) <= kSlack * std::abs(value)) {
    return schedule::grouped(static_cast<std::int64_t>(whole));
  }
  return fmt::format("{:.4g}", value);
}

}  // namespace tilewright::html
