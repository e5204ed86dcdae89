// Kernels with one thing each that an image tells, for the fixtures in tests/data/inspect and for the tests that run
// nvcc. The fixtures were written by nvcc 13.0.88 from this file, in this folder:
//
//   nvcc -fatbin --compress-mode=size -gencode arch=compute_90a,code=sm_90a -gencode arch=compute_100a,code=sm_100a
//     -gencode arch=compute_120f,code=[sm_120f,compute_120f] -gencode arch=compute_121a,code=sm_121a
//     -o ../data/inspect/several_targets.fatbin probe.cu
//   nvcc -rdc=true -c -gencode arch=compute_90a,code=sm_90a -o ../data/inspect/not_linked.o probe.cu
//   strip --strip-unneeded ../data/inspect/not_linked.o
extern "C" {

__global__ void plain(float* a) { a[threadIdx.x] *= 2.0f; }

__global__ void __launch_bounds__(384, 1) specialized(float* a) {
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    a[threadIdx.x] = 1.0f;
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    a[threadIdx.x] = 2.0f;
  }
}

__global__ void waits(float* a) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  a[threadIdx.x] = 1.0f;
}

__global__ void releases(float* a) {
  a[threadIdx.x] = 1.0f;
  asm volatile("griddepcontrol.launch_dependents;");
}

// 4,000 bytes of shared memory.
__global__ void shares(float* a) {
  __shared__ float values[1000];
  values[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  a[threadIdx.x] = values[(threadIdx.x * 3) % 1000];
}

// A block of 1,024 threads leaves 64 registers a thread, and 40 doubles are 80.
__global__ void __launch_bounds__(1024) spills(double* a, int n) {
  double v[40];
#pragma unroll
  for (int i = 0; i < 40; ++i) v[i] = a[i * n];
#pragma unroll
  for (int i = 0; i < 40; ++i) v[i] = v[i] * v[39 - i] + v[(i * 7) % 40];
#pragma unroll
  for (int i = 0; i < 40; ++i) a[i] = v[i];
}

// 256 bytes of local memory that no register could hold: the index is not known.
__global__ void indexes(float* a, int n) {
  float v[64];
  for (int i = 0; i < n; ++i) v[i & 63] = a[i];
  a[0] = v[n & 63];
}

}  // extern "C"
