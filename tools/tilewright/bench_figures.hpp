// The charts of `bench`, the same for every backend.
#pragma once

#include <string>
#include <vector>

#include "tools/tilewright/report.hpp"

namespace tilewright::cli {

/// One token count: the measured time with its 10th and 90th percentile, and what the machine's limits alone would
/// take.
struct BenchPoint {
  int tokens = 0;
  double us = 0;
  double us_low = 0;
  double us_high = 0;
  double read_us = 0;     ///< the bytes at the measured read bandwidth
  double compute_us = 0;  ///< the multiply-adds at the measured rate
  double share = 0;       ///< the roofline's time over the measured one

  /// What the layer would take if it ran as fast as the machine can.
  [[nodiscard]] double roofline_us() const { return read_us > compute_us ? read_us : compute_us; }
};

/// The figures of one precision on one rank.
struct BenchCurve {
  std::string name;     ///< unique in the report: "w4a16, tp 1, ep 8"
  std::string read;     ///< what read_us is: "weights at the read bandwidth"
  std::string compute;  ///< what compute_us is: "multiply-adds at the dot rate"
  std::vector<BenchPoint> points;
};

/// Appends time against tokens with its spread beside the roofline's, and the share of the roofline.
void add_figures(Report& report, BenchCurve curve);

/// Columns that a page's table has besides those of the text, since a chart there shows them; and their cells.
void add_roofline_columns(Table& table);
void add_roofline_cells(std::vector<std::string>& row, const BenchPoint& point);

}  // namespace tilewright::cli
