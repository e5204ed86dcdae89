// CUDA's error codes as Status.
#pragma once

#include <cuda_runtime_api.h>

#include "tilewright/result.hpp"

namespace tilewright::cuda {

/// Success, or what the runtime said while `doing`: `exhausted` for memory, `unsupported` for a device, driver or image
/// that does not fit, `io` otherwise. The runtime's last error is cleared, so that the context stays usable.
Status cuda_status(cudaError_t error, const char* doing);

}  // namespace tilewright::cuda
