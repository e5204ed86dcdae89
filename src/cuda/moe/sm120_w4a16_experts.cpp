// The layer's GEMMs on SM120's kernels in w4a16: tokens arranged in bf16 before GEMM1, which leaves its output as GEMM2
// reads it.
#include <utility>
#include <vector>

#include "cuda/cuda_error.hpp"
#include "cuda/moe/sm120_gemms.hpp"
#include "cuda/sm120/fragment_order.hpp"

namespace tilewright::cuda {
namespace {

class Sm120W4a16Experts : public ExpertGemms {
 public:
  explicit Sm120W4a16Experts(Sm120Gemms gemms) : gemms_(std::move(gemms)) {}

  Status prepare() { return gemms_.prepare(); }

  [[nodiscard]] ExpertsBytes bytes(std::int64_t /*slots*/, std::int64_t group_rows) const override {
    ExpertsBytes needs = gemms_.bytes();
    needs.arranged = sm120::bf16_token_bytes(group_rows, gemms_.shape().hidden);
    needs.inner = sm120::bf16_token_bytes(group_rows, gemms_.shape().intermediate);
    return needs;
  }
  [[nodiscard]] std::int64_t packed_bytes() const override { return gemms_.packed_bytes(); }

  [[nodiscard]] Status check(const LayerSchedules& schedules, bool /*scales_input*/) const override {
    return gemms_.check(schedules);
  }

  Status enqueue(const ExpertsRun& run, const LayerSchedules& schedules) const override {
    TILEWRIGHT_TRY(cuda_status(enqueue_arrange_fragments(gemms_.token_items(run), run.stream),
                               "launching the arrangement of tokens"));
    TILEWRIGHT_TRY(gemms_.launch(run, schedules.gemm1, gemms_.first_params(run)));
    return gemms_.launch(run, schedules.gemm2, gemms_.second_params(run));
  }

 private:
  Sm120Gemms gemms_;
};

}  // namespace

Result<std::unique_ptr<ExpertGemms>> make_sm120_w4a16_experts(const ExpertWeights& weights, const ExpertsSetup& setup,
                                                              sm120::MmaPolicy policy) {
  const std::vector<float> factors2(weights.experts.size(), 1.0F);
  TILEWRIGHT_ASSIGN(DeviceWeights packed, DeviceWeights::pack(weights, WeightOrder::sm120, 1.0F, factors2));
  const Epilogue ending = setup.shape.gated ? Epilogue::gated_bf16 : Epilogue::act_bf16;
  auto experts =
      std::make_unique<Sm120W4a16Experts>(Sm120Gemms(setup, Precision::w4a16, policy, ending, std::move(packed)));
  TILEWRIGHT_TRY(experts->prepare());
  return std::unique_ptr<ExpertGemms>(std::move(experts));
}

}  // namespace tilewright::cuda
