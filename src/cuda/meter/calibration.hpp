// What the cost model's constants stand for, measured on the current GPU by kernels that do one thing each.
#pragma once

#include <cstdint>

#include "tilewright/result.hpp"

namespace tilewright::cuda {

struct Calibration {
  double read_GBps = 0;      ///< meter.hpp
  double matrix_tflops = 0;  ///< meter.hpp: wgmma
  double clock_mhz = 0;      ///< of the SMs while wgmma runs without a pause, by clock64 and the global timer
  double l2_GBps = 0;        ///< every SM reads 24 MiB over and over
  double l2_clock_mhz = 0;   ///< meanwhile
  std::int64_t l2_bytes = 0;
  double dram_latency_ns = 0;  ///< one load after another, each from an address that the one before read, over 512 MiB
  double step_cycles = 0;      ///< SM cycles of an m64n8k16 wgmma, four warpgroups, weights in registers
  double decode_step_cycles = 0;   ///< the same with the decoding of its weights before it
  double launch_us = 0;            ///< of a kernel in a CUDA graph that does nothing, after another
  double dependent_launch_us = 0;  ///< the same by programmatic dependent launch
};

/// `unsupported` without CUDA in this build, without a GPU, and on one that the kernels are not built for. Takes about
/// a second.
Result<Calibration> calibrate();

}  // namespace tilewright::cuda
