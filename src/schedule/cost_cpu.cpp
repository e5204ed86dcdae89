// The time of a grouped GEMM on a CPU: strips of weights dealt to the cores.
#include <algorithm>
#include <cmath>

#include "schedule/cost_constants.hpp"
#include "schedule/cost_model.hpp"
#include "tilewright/shared_memory.hpp"

namespace tilewright::schedule {

Cost predict_cpu(const Device& device, const GemmProblem& problem, const Schedule& s) {
  Cost cost = shape_cost(device, problem, s);
  cost.token_fill = 1.0;
  const bool panel = s.mma == Mma::cpu_panel;
  const double rate = problem.precision == Precision::w4a4 ? device.cpu.macs_w4a4 : device.cpu.macs_w4a16;
  const double us_per_mac = 1e6 / rate;
  // Decoding is the same integer work in both precisions, counted in multiply-adds of the integer dot product.
  const double us_per_decode_mac = 1e6 / device.cpu.macs_w4a4;
  const double strips = static_cast<double>(round_up(problem.n, s.tile_m) / s.tile_m);
  const auto padded_k = static_cast<double>(round_up(problem.k, 64));
  const double panels = std::ceil(static_cast<double>(problem.k) / s.tile_k);

  // Strips are dealt to the cores within an expert, so the busiest core has whole strips of each.
  const double deal = std::ceil(strips / device.sm_count) * device.sm_count / strips;
  double passes = 0;  // times that an expert's weights are decoded
  double rows = 0;    // kernels exist for any number of them up to tile_n: none is padding
  for (const auto& bin : problem.rows.bins) {
    const auto experts = static_cast<double>(bin.experts);
    const auto tiles = static_cast<double>(round_up(bin.rows, s.tile_n) / s.tile_n);
    rows += experts * static_cast<double>(bin.rows);
    passes += bin.rows == 0 ? 0.0 : experts * (panel ? 1.0 : tiles);
  }
  const double weights = strips * s.tile_m * padded_k;
  cost.mma_us = deal * us_per_mac * rows * weights / kCpuDotShare;
  cost.decode_us =
      deal * us_per_decode_mac * passes * weights * (panel ? kCpuMacsPerExpandedWeight : kCpuMacsPerDecodedWeight);
  cost.overhead_us = panel ? deal * us_per_mac * rows * strips * panels * kCpuMacsPerAccumulatorPass : 0.0;
  cost.launch_us = kCpuLaunchUs;
  cost.sm_us = cost.mma_us + cost.decode_us + cost.overhead_us;
  cost.waves = static_cast<double>(cost.tiles) / device.sm_count;
  cost.wave_efficiency = 1.0 / deal;
  return cost;
}

}  // namespace tilewright::schedule
