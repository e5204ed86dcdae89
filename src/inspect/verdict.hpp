// The parts of a verdict.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tilewright/binary_verdict.hpp"

namespace tilewright::inspect {

/// What a name tells about the shared memory of a launch.
struct NamedStorage {
  std::optional<CutlassKernel> kernel;  ///< none: `unknown` says why
  std::string unknown;
};
NamedStorage storage_of(const KernelName& name);

/// Registers that a block of `threads` threads occupies: a warp takes its own in units of 256 (CUDA occupancy rules,
/// compute capability 3.0 and newer).
std::int64_t block_registers(int registers, std::int64_t threads);

/// Fills code, message and remedy of a kernel that no image of its module serves. `loaded` is the image that the driver
/// takes without finding the kernel in it.
void judge_missing(KernelVerdict& verdict, const BinaryReport& report, const KernelName& name,
                   const NamedStorage& storage, const VerdictDevice& device, std::optional<std::size_t> loaded);

/// Fills code, message and remedy of a kernel whose image loads.
void judge_loaded(KernelVerdict& verdict, const KernelInfo& kernel, const KernelName& name, const NamedStorage& storage,
                  const VerdictOptions& options);

}  // namespace tilewright::inspect
