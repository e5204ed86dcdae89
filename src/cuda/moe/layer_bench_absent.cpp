// Timing in a build without CUDA kernels.
#include "cuda/moe/layer_bench.hpp"

namespace tilewright::cuda {

Result<ReplayTimes> time_replays(std::span<const CudaLayer* const> /*copies*/, std::span<const bf16> /*x*/,
                                 int /*tokens*/, const std::function<RoutedTokens(int)>& /*routing*/,
                                 const ReplayOptions& /*options*/) {
  TILEWRIGHT_TRY(cuda_available());
  return ReplayTimes{};
}

}  // namespace tilewright::cuda
