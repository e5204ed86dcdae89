// The CPU backend's view of the machine: what it is, which kernels run on it, and how fast its limits are.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tilewright/device.hpp"
#include "tilewright/precision.hpp"
#include "tilewright/result.hpp"

namespace tilewright {

struct CpuInfo {
  std::string model;               ///< as the system names it
  std::vector<std::string> tiers;  ///< instruction set tiers that run here, lowest first
  int cores = 1;                   ///< that this process may use
  std::int64_t l1_bytes = 0;       ///< data cache of a core; 0 where the system does not say (likewise below)
  std::int64_t l2_bytes = 0;
  std::int64_t l3_bytes = 0;
};

CpuInfo cpu_info();

struct CpuOptions {
  std::string isa;  ///< a tier by name; empty: the highest that runs here
  int threads = 0;  ///< 0, or more than there are: all cores that this process may use
};

/// Measures the machine's limits, again at every call, so that a benchmark can alternate them with what it measures.
class CpuMeter {
 public:
  /// Reads from `memory` where that is large enough to be no cache's (128 MiB; a layer's packed weights, say), which
  /// must then outlive the meter; otherwise from 256 MiB of its own. `unsupported` where the tier does not run here.
  static Result<CpuMeter> create(const CpuOptions& options, std::span<const std::uint8_t> memory = {});
  CpuMeter(CpuMeter&&) noexcept;
  CpuMeter& operator=(CpuMeter&&) noexcept;
  ~CpuMeter();

  /// GB/s of one pass over the memory (256 MiB of it at most) by all threads.
  double read_GBps();

  /// Multiply-adds a second of the precision's dot-product instruction, all threads, operands in registers.
  double dot_rate(Precision precision);

  /// The instruction that dot_rate measures.
  [[nodiscard]] std::string dot_instruction(Precision precision) const;

  /// Multiply-adds of that instruction for one multiply-add of the layer: w4a16 on int8 dot products takes two.
  [[nodiscard]] int dots_per_mac(Precision precision) const;

  /// How the backend goes over the weights, and for how many rows it takes which way.
  [[nodiscard]] CpuWalks walks(Precision precision) const;

  [[nodiscard]] std::string isa() const;
  [[nodiscard]] int threads() const;

 private:
  struct State;
  explicit CpuMeter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// This machine as a device for the planner: caches from the system, rates measured (about a tenth of a second).
Result<Device> this_cpu(const CpuOptions& options);

}  // namespace tilewright
