// Launching a kernel, after another or while that one drains.
#pragma once

#include <cuda_runtime.h>

namespace tilewright::cuda {

/// `dependent`: the kernel may start while the one before it drains, and waits for its results itself.
template <typename Params>
cudaError_t enqueue(void (*kernel)(Params), const Params& params, dim3 grid, int threads, std::size_t shared,
                    int cluster, bool dependent, cudaStream_t stream) {
  cudaLaunchAttribute attributes[2]{};
  unsigned count = 0;
  if (dependent) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (cluster > 1) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count++].val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
  }
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = count;
  return cudaLaunchKernelEx(&config, kernel, params);
}

}  // namespace tilewright::cuda
