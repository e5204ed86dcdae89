// CudaLayer in a build without CUDA kernels.
#include "tilewright/cuda_layer.hpp"

namespace tilewright {
namespace {

tl::unexpected<Error> absent() {
  return fail(ErrorCode::unsupported, "this build has no CUDA kernels",
              "build with nvcc 12.8 or newer (TILEWRIGHT_CUDA=ON), or run with --backend cpu");
}

}  // namespace

struct CudaLayer::State {
  CudaLayerInfo info;
};

CudaLayer::CudaLayer(std::unique_ptr<State> state) : state_(std::move(state)) {}
CudaLayer::CudaLayer(CudaLayer&&) noexcept = default;
CudaLayer& CudaLayer::operator=(CudaLayer&&) noexcept = default;
CudaLayer::~CudaLayer() = default;

Result<CudaLayer> CudaLayer::create(const ExpertWeights& /*weights*/, const Activation& /*activation*/,
                                    const Routing& /*routing*/, const CudaLayerOptions& /*options*/) {
  return absent();
}
std::int64_t CudaLayer::workspace_bytes(int /*tokens*/, int /*top_k*/) const { return 0; }
LayerSchedules CudaLayer::schedules(int /*tokens*/) const { return {}; }
Status CudaLayer::use_schedules(const std::vector<ScheduleRung>& /*rungs*/) { return absent(); }
Status CudaLayer::run(const CudaBatch& /*batch*/, void* /*workspace*/, void* /*stream*/) const { return absent(); }
Status CudaLayer::run(const CudaBatch& /*batch*/, const LayerSchedules& /*schedules*/, void* /*workspace*/,
                      void* /*stream*/) const {
  return absent();
}
Status CudaLayer::run_host(const bf16* /*x*/, const RoutedTokens& /*routed*/, float* /*y*/) { return absent(); }
const CudaLayerInfo& CudaLayer::info() const { return state_->info; }

Status cuda_available(const CudaLayerOptions& /*options*/) { return absent(); }

}  // namespace tilewright
