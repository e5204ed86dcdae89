// The charts of `bench`.
#pragma once

#include "tilewright/layer_bench.hpp"
#include "tools/tilewright/report.hpp"

namespace tilewright::cli {

/// The figures of one precision on one rank.
struct BenchRun {
  Precision precision = Precision::w4a16;
  int tp = 1;
  int ep = 1;
  LayerBench bench;
};

/// What the layer would take if it ran as fast as the machine can: the larger of the two limits.
double roofline_us(const LayerBenchResult& result);

/// Appends time against tokens with its spread beside the roofline's, and the share of the roofline.
void add_figures(Report& report, const BenchRun& run);

}  // namespace tilewright::cli
