// Programmatic dependent launch, registers of a warpgroup, and flags between blocks.
#pragma once

#include <cstdint>

namespace tilewright::cuda::ptx {

/// Waits until the kernels that this one depends on have finished and their writes are visible.
__device__ inline void wait_for_dependencies() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

/// Lets dependent kernels start their blocks; they wait for this grid's end before they read its results.
__device__ inline void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

template <int kRegisters>
__device__ inline void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

template <int kRegisters>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

__device__ inline unsigned load_acquire(const unsigned* at) {
  unsigned value = 0;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
}

__device__ inline void store_release(unsigned* at, unsigned value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}

}  // namespace tilewright::cuda::ptx
