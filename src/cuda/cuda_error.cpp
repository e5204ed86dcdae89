#include "cuda/cuda_error.hpp"

#include <fmt/format.h>

namespace tilewright::cuda {
namespace {

ErrorCode code_of(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
    case cudaErrorLaunchOutOfResources: return ErrorCode::exhausted;
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion: return ErrorCode::unsupported;
    default: return ErrorCode::io;
  }
}

const char* remedy_of(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation: return "free device memory, or load fewer experts";
    case cudaErrorInsufficientDriver: return "install a driver for CUDA 12.8 or newer";
    case cudaErrorNoDevice: return "run on a machine with an NVIDIA GPU, or on the CPU backend";
    default: return "see the CUDA runtime's documentation of this error";
  }
}

}  // namespace

Status cuda_status(cudaError_t error, const char* doing) {
  if (error == cudaSuccess) return {};
  (void)cudaGetLastError();
  return fail(code_of(error), fmt::format("{}: {} ({})", doing, cudaGetErrorString(error), cudaGetErrorName(error)),
              remedy_of(error));
}

}  // namespace tilewright::cuda
