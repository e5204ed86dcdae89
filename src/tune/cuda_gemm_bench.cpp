#include "tune/cuda_gemm_bench.hpp"

#include <utility>
#include <vector>

#include "cuda/moe/gemm_sampler.hpp"
#include "tune/rank_routing.hpp"

namespace tilewright::tune {
namespace {

class CudaGemmBench final : public GemmBench {
 public:
  explicit CudaGemmBench(cuda::GemmSampler sampler) : measurer_(std::move(sampler)) {}

  Result<ScheduleMeasurer*> load(const GemmWork& work) override {
    TILEWRIGHT_TRY(rank_routing(work.layer, work.local_experts, 0));  // the others differ in nothing that can fail
    cuda::SampledGemm gemm;
    gemm.gemm = work.problem.gemm;
    gemm.experts = work.local_experts;
    gemm.tokens = static_cast<int>(work.layer.tokens);
    gemm.top_k = work.layer.model.routing.top_k;
    gemm.hidden = work.layer.model.hidden;
    gemm.intermediate = work.problem.gemm == GemmId::gemm2    ? work.problem.k
                        : work.layer.model.activation.gated() ? work.problem.n / 2
                                                              : work.problem.n;
    gemm.activation = work.layer.model.activation;
    gemm.expected_us = work.expected_us;
    gemm.expected_weight_bytes = static_cast<double>(active_weight_bytes(work.problem));
    gemm.routing = [&](int launch) { return rank_routing(work.layer, work.local_experts, launch).value(); };
    TILEWRIGHT_TRY(measurer_.sampler.load(gemm));
    return &measurer_;
  }

 private:
  struct Measurer final : ScheduleMeasurer {
    explicit Measurer(cuda::GemmSampler s) : sampler(std::move(s)) {}
    Status check(const Schedule& schedule) override { return sampler.check(schedule); }
    Result<double> sample(const Schedule& schedule) override { return sampler.sample(schedule); }

    cuda::GemmSampler sampler;
  };

  Measurer measurer_;
};

}  // namespace

Result<std::unique_ptr<GemmBench>> cuda_gemm_bench() {
  TILEWRIGHT_ASSIGN(cuda::GemmSampler sampler, cuda::GemmSampler::create());
  return std::make_unique<CudaGemmBench>(std::move(sampler));
}

}  // namespace tilewright::tune
