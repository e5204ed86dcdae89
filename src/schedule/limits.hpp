// What a schedule takes of a device, as the rules and the catalogue count it.
#pragma once

#include "tilewright/device.hpp"
#include "tilewright/schedule.hpp"
#include "tilewright/shared_memory.hpp"

namespace tilewright::schedule {

// Registers of a consumer thread besides its accumulators: fragments, scales, addresses, the loop. SM90: what the
// tightest built kernel compiles with, 56 accumulators in 104 registers. SM12x: an estimate.
inline constexpr int kWorkingRegistersSm90 = 48;
inline constexpr int kWorkingRegistersSm12x = 80;
// A ring deeper than this hides nothing more; it bounds the search for tiles of a few bytes.
inline constexpr int kMostStages = 32;
// What a producer warp keeps at least after setmaxnreg, which moves multiples of 8: that of the built kernels.
inline constexpr int kProducerRegisters = 56;

/// Registers that a consumer thread needs; the estimate above, rounded up to what setmaxnreg can ask for.
constexpr int registers_needed(const Schedule& s) {
  const int working = s.mma == Mma::wgmma_rs_bf16 ? kWorkingRegistersSm90 : kWorkingRegistersSm12x;
  return static_cast<int>(round_up(accumulators(s) + working, 8));
}

/// Registers that a consumer thread may have with `ctas_per_sm` blocks resident: producers are a warpgroup, which
/// passes on what it does not need by setmaxnreg.
constexpr int registers_available(const Device& device, const Schedule& s) {
  const int producers = 32 * s.roles.producer_warps;
  const int consumers = 32 * s.roles.consumer_warps;
  const int block = device.registers_per_sm / s.ctas_per_sm - producers * kProducerRegisters;
  const int share = consumers == 0 ? 0 : block / consumers / 8 * 8;
  return share < device.registers_per_thread ? share : device.registers_per_thread;
}

/// Shared memory of all resident blocks, the reserved bytes of each included.
constexpr std::int64_t resident_bytes(const Device& device, const Schedule& s) {
  return s.ctas_per_sm * (shared_memory(s).total + device.smem_reserved);
}

/// Whether kernels with a ring in shared memory exist for an architecture.
constexpr bool has_gpu_kernels(Arch arch) { return arch == Arch::sm_90 || kernel_arch(arch) == Arch::sm_120; }

/// The largest stage count, from 2 up to kMostStages, at which the schedule's block fits the device; 0 when 2 are too
/// many.
int largest_stages(const Device& device, Schedule schedule);

}  // namespace tilewright::schedule
