// Sampling GEMMs in a build without CUDA kernels.
#include "cuda/moe/gemm_sampler.hpp"
#include "tilewright/cuda_layer.hpp"

namespace tilewright::cuda {

struct GemmSampler::State {};

GemmSampler::GemmSampler(std::unique_ptr<State> state) : state_(std::move(state)) {}
GemmSampler::GemmSampler(GemmSampler&&) noexcept = default;
GemmSampler& GemmSampler::operator=(GemmSampler&&) noexcept = default;
GemmSampler::~GemmSampler() = default;

Result<GemmSampler> GemmSampler::create() {
  TILEWRIGHT_TRY(cuda_available());
  return GemmSampler(std::make_unique<State>());
}

Status GemmSampler::load(const SampledGemm& /*gemm*/) { return cuda_available(); }
Status GemmSampler::check(const Schedule& /*schedule*/) { return cuda_available(); }
Result<double> GemmSampler::sample(const Schedule& /*schedule*/) {
  TILEWRIGHT_TRY(cuda_available());
  return 0.0;
}

}  // namespace tilewright::cuda
