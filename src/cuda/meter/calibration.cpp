#include "cuda/meter/calibration.hpp"

#include "cuda/device.hpp"
#include "cuda/meter/calibration_kernels.hpp"
#include "cuda/meter/gpu_limits.hpp"

namespace tilewright::cuda {

Result<Calibration> calibrate() {
  TILEWRIGHT_TRY(current_sm90());
  TILEWRIGHT_ASSIGN(const GpuLimits limits, measure_gpu(Precision::w4a16));
  Calibration calibration;
  calibration.read_GBps = limits.read_GBps;
  calibration.matrix_tflops = limits.matrix_tflops;
  calibration.l2_bytes = limits.l2_bytes;
  TILEWRIGHT_ASSIGN(const ClockedRate l2, measure_l2_GBps(limits.sm_count));
  calibration.l2_GBps = l2.value;
  calibration.l2_clock_mhz = l2.clock_mhz;
  TILEWRIGHT_ASSIGN(calibration.dram_latency_ns, measure_latency_ns());
  TILEWRIGHT_ASSIGN(const ClockedRate step, measure_step_cycles(limits.sm_count, false));
  calibration.step_cycles = step.value;
  TILEWRIGHT_ASSIGN(const ClockedRate decoding, measure_step_cycles(limits.sm_count, true));
  calibration.decode_step_cycles = decoding.value;
  calibration.clock_mhz = decoding.clock_mhz;
  TILEWRIGHT_ASSIGN(calibration.launch_us, measure_launch_us(false));
  TILEWRIGHT_ASSIGN(calibration.dependent_launch_us, measure_launch_us(true));
  return calibration;
}

}  // namespace tilewright::cuda
