// What a host compiler needs before it can read CUTLASS's kernel headers: names that nvcc declares by itself.
// Only types are computed here and nothing is called, so declarations are enough.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

extern const uint3 threadIdx, blockIdx;
extern const dim3 blockDim, gridDim;
void __syncthreads();
void __syncwarp(unsigned = ~0U);
void __threadfence();
void __threadfence_block();
void __threadfence_system();
void __nanosleep(unsigned);
void __trap();
int __ffs(int);
int __popc(unsigned);
int __clz(int);
unsigned __activemask();
unsigned __ballot_sync(unsigned, int);
int __any_sync(unsigned, int);
int __all_sync(unsigned, int);
template <class... T>
int __byte_perm(T...);
template <class... T>
int __dp4a(T...);
template <class... T>
__half2 __hfma2(T...);
template <class T>
T __shfl_sync(unsigned, T, int, int = 32);
template <class T>
T __shfl_up_sync(unsigned, T, unsigned, int = 32);
template <class T>
T __shfl_down_sync(unsigned, T, unsigned, int = 32);
template <class T>
T __shfl_xor_sync(unsigned, T, int, int = 32);
template <class T>
T atomicAdd(T*, T);
template <class T>
T atomicCAS(T*, T, T);

namespace cutlass::arch {
int SmId();
int LaneId();
}  // namespace cutlass::arch

// Read before a compiler version is claimed: with one it asks for nvcc's <mma.h>, and pragma once keeps it out later.
#include <cutlass/arch/wmma.h>

// SM90's KernelScheduleAuto depends on the toolkit: from 12.1 on it is Pingpong or Cooperative.
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 88
