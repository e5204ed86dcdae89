// Launching grouped_gemm<S>.
#pragma once

#include <array>
#include <utility>

#include "cuda/sm90/grouped_gemm.cuh"
#include "cuda/sm90/grouped_gemm.hpp"

namespace tilewright::cuda::sm90 {

template <Schedule S>
cudaError_t prepare_gemm() {
  return cudaFuncSetAttribute(grouped_gemm<Scheduled<S>>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              static_cast<int>(GemmShape<S>::kPlan.total));
}

template <Schedule S>
cudaError_t enqueue_gemm(const GemmParams& params, int blocks, bool dependent, cudaStream_t stream) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(static_cast<unsigned>(threads(S)));
  config.dynamicSmemBytes = static_cast<std::size_t>(GemmShape<S>::kPlan.total);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = dependent ? 1 : 0;
  return cudaLaunchKernelEx(&config, grouped_gemm<Scheduled<S>>, params);
}

template <Schedule S>
constexpr BuiltGemm built_gemm() {
  return {S, prepare_gemm<S>, enqueue_gemm<S>};
}

}  // namespace tilewright::cuda::sm90
