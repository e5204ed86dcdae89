// Launching grouped_gemm<S>.
#pragma once

#include <array>
#include <utility>

#include "cuda/launch.cuh"
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
  return enqueue(grouped_gemm<Scheduled<S>>, params, dim3(static_cast<unsigned>(blocks)), threads(S),
                 static_cast<std::size_t>(GemmShape<S>::kPlan.total), 1, dependent, stream);
}

template <Schedule S>
constexpr BuiltGemm built_gemm() {
  return {S, prepare_gemm<S>, enqueue_gemm<S>};
}

}  // namespace tilewright::cuda::sm90
