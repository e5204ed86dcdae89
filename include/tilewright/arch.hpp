// Arch: what a kernel is compiled for, and the limits that follow from it alone.
#pragma once

#include <cstdint>
#include <string>

#include "tilewright/result.hpp"

namespace tilewright {

/// What a kernel is compiled for. A value stands for one compute capability and is never rounded to a neighbour.
enum class Arch : std::uint8_t { cpu, sm_90, sm_100, sm_103, sm_110, sm_120, sm_121 };

/// "sm_120"; "cpu".
const char* to_string(Arch arch);

/// An architecture by target name: "sm_120", "SM120", "sm_120a", "120f" and "12.0" are one; "cpu" is Arch::cpu.
/// An unknown one is `not_found` with the known ones.
Result<Arch> find_arch(const std::string& name);

/// The architecture of a compute capability; an unknown one is `unsupported`.
Result<Arch> arch_of(int major, int minor);

/// The architecture whose kernels run on `arch`: sm_121 runs sm_120's (target sm_120f), every other one its own.
constexpr Arch kernel_arch(Arch arch) { return arch == Arch::sm_121 ? Arch::sm_120 : arch; }

/// Shared memory that one block may opt in to, in bytes: 232,448 on SM90, SM100, SM103 and SM110, 101,376 on every
/// SM12x; 0 on a CPU. Source: CUTLASS include/cutlass/arch/arch.h (sm90, sm100 and sm120_smem_capacity_bytes).
constexpr int smem_per_block(Arch arch) {
  if (arch == Arch::cpu) return 0;
  return kernel_arch(arch) == Arch::sm_120 ? 101376 : 232448;
}

}  // namespace tilewright
