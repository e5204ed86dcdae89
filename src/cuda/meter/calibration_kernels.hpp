// The kernels of calibration.hpp. Each answers with the microseconds, or the cycles, that it took.
#pragma once

#include "tilewright/result.hpp"

namespace tilewright::cuda {

/// A rate with the clock that it was measured at.
struct ClockedRate {
  double value = 0;
  double clock_mhz = 0;
};

Result<ClockedRate> measure_l2_GBps(int sm_count);
Result<double> measure_latency_ns();
/// SM cycles of a step, and the clock.
Result<ClockedRate> measure_step_cycles(int sm_count, bool decodes);
Result<double> measure_launch_us(bool dependent);

}  // namespace tilewright::cuda
