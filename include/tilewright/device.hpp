// Device: the facts about a processor that a plan rests on. Nothing here detects hardware: a GPU's facts are in a table
// with a source for each number (src/schedule/devices.cpp), a CPU's are measured by the CPU backend and handed in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilewright/arch.hpp"
#include "tilewright/precision.hpp"
#include "tilewright/result.hpp"

namespace tilewright {

/// Multiply-adds of the tensor cores, dense, fp32 accumulation: FLOP a clock and SM. 0: none, or not known.
struct TensorRates {
  int fp4 = 0;
  int fp8 = 0;
  int bf16 = 0;
};

/// How the kernels of one precision go over an expert's weights, and when the backend takes which way: `cpu_stream`
/// decodes them anew for every few rows, `cpu_panel` expands a part of K once for all rows. Tuned for each instruction
/// set (docs/kernels/cpu.md).
struct CpuWalks {
  int stream_rows = 4;   ///< token rows that cpu_stream decodes weights for
  int stream_limit = 4;  ///< rows of an active expert, on average, up to which cpu_stream is the faster one
  int panel_rows = 4;    ///< token rows that cpu_panel multiplies at a time
  int panel_k = 512;     ///< K of a panel

  /// Whether `rows` rows over `active` experts are streamed: the backend and the planner both ask this.
  [[nodiscard]] constexpr bool streams(std::int64_t rows, std::int64_t active) const {
    return rows <= active * stream_limit;
  }

  friend constexpr bool operator==(const CpuWalks&, const CpuWalks&) = default;
};

/// A CPU as the CPU backend found and measured it.
struct CpuFacts {
  std::string isa;            ///< the instruction set tier in use, e.g. "avx512_vnni"
  int cores = 1;              ///< threads that run kernels
  std::int64_t l1_bytes = 0;  ///< data cache of one core
  std::int64_t l2_bytes = 0;  ///< second-level cache of one core
  double read_GBps = 0.0;     ///< measured read bandwidth, all cores
  double macs_w4a4 = 0.0;     ///< measured multiply-adds a second, all cores, by the instruction of w4a4
  double macs_w4a16 = 0.0;    ///< the same for w4a16
  CpuWalks walks_w4a4;
  CpuWalks walks_w4a16;

  [[nodiscard]] const CpuWalks& walks(Precision precision) const {
    return precision == Precision::w4a4 ? walks_w4a4 : walks_w4a16;
  }
};

/// One device. Times that the planner predicts come from these numbers and from the constants in cost.hpp alone.
struct Device {
  std::string name;   ///< as given on the command line: "rtx-pro-6000-server"
  std::string title;  ///< "NVIDIA RTX PRO 6000 Blackwell Server Edition"
  Arch arch = Arch::cpu;
  int sm_count = 0;              ///< streaming multiprocessors; cores of a CPU
  int clock_mhz = 0;             ///< the clock that peaks are stated at
  int smem_per_sm = 0;           ///< bytes
  int smem_per_block = 0;        ///< bytes, opt-in limit of one block; a core's L2 on a CPU
  int smem_reserved = 0;         ///< bytes that each resident block costs besides its own
  int registers_per_sm = 0;      ///< 32-bit
  int registers_per_thread = 0;  ///< limit of one thread
  int max_blocks_per_sm = 0;
  std::int64_t l2_bytes = 0;
  double dram_GBps = 0.0;  ///< by specification
  double dram_read_GBps =
      0.0;  ///< what a kernel has been seen to read, or 0.85 of dram_GBps where nobody published one
  bool dram_read_measured = false;
  TensorRates flop_per_clk;     ///< a SM
  double mma_share = 1.0;       ///< of the tensor peak that an MMA-bound k-block is expected to reach
  double l2_bytes_per_clk = 0;  ///< L2 to SM, all SMs together
  CpuFacts cpu;                 ///< of a CPU; default elsewhere
  std::string note;             ///< what was assumed to arrive at this device; empty when it was named

  /// Dense TFLOP/s at clock_mhz; 0 where the rate is 0.
  [[nodiscard]] double peak_tflops(int flop_per_clk_per_sm) const {
    return 1e-6 * sm_count * static_cast<double>(clock_mhz) * flop_per_clk_per_sm;
  }
};

/// The GPUs known by name.
const std::vector<Device>& known_devices();

/// A known device by name, whatever its case, with spaces, underscores or dashes ("RTX PRO 6000 Server"), or by an
/// alias
/// ("dgx-spark"). An unknown name is `not_found` with the nearest ones.
Result<Device> find_device(const std::string& name);

/// The device that stands for an architecture where only that is given; `note` says so. A CPU is `invalid_argument`:
/// its facts have to be measured.
Result<Device> default_device(Arch arch);

/// The GPU that its driver calls `name` ("NVIDIA H200"), with as many SMs as it has: a known device, or the one that
/// stands for its architecture, in which case `note` says so.
Result<Device> device_of_gpu(const std::string& name, Arch arch, int sm_count);

/// A CPU as a device. Cores, caches and rates must be positive, or `invalid_argument` names the one that is not.
Result<Device> cpu_device(const CpuFacts& facts);

}  // namespace tilewright
