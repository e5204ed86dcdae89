// The layer's GEMMs on SM120's kernels in w4a4: tokens quantized into tile order before GEMM1. Where the checkpoint has
// GEMM2's input scales, GEMM1 ends in NVFP4 itself; where it has none, it ends in bf16 and each row is quantized by its
// own largest magnitude.
#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "cuda/cuda_error.hpp"
#include "cuda/moe/sm120_gemms.hpp"
#include "numerics/input_scales.hpp"

namespace tilewright::cuda {
namespace {

/// The input scales of a layer: what GEMM1's tokens and GEMM2's intermediates are quantized with.
struct InputScales {
  std::optional<float> gemm1;  ///< none: a row's own
  std::vector<float> gemm2;    ///< of each expert; empty: a row's own
};

Epilogue first_ending(bool gated, bool in_nvfp4) {
  if (gated) return in_nvfp4 ? Epilogue::gated_nvfp4 : Epilogue::gated_bf16;
  return in_nvfp4 ? Epilogue::act_nvfp4 : Epilogue::act_bf16;
}

class Sm120Experts : public ExpertGemms {
 public:
  Sm120Experts(Sm120Gemms gemms, const InputScales& scales)
      : gemms_(std::move(gemms)),
        quant_multiplier_(scales.gemm1 ? quant_multiplier(*scales.gemm1) : 0.0F),
        ends_in_nvfp4_(!scales.gemm2.empty()) {}

  Status prepare(const InputScales& scales) {
    std::vector<float> multipliers;
    for (const float scale : scales.gemm2) multipliers.push_back(quant_multiplier(scale));
    TILEWRIGHT_ASSIGN(quant_multipliers_, upload(multipliers));
    return gemms_.prepare();
  }

  [[nodiscard]] ExpertsBytes bytes(std::int64_t slots, std::int64_t group_rows) const override {
    ExpertsBytes needs = gemms_.bytes();
    needs.arranged = sm120::token_bytes(group_rows, shape().hidden);
    needs.inner = sm120::token_bytes(group_rows, shape().intermediate);
    needs.unquantized = ends_in_nvfp4_ ? 0 : slots * shape().intermediate * 2;
    needs.input_scales = ends_in_nvfp4_ && quant_multiplier_ != 0.0F ? 0 : group_rows * 4;
    return needs;
  }
  [[nodiscard]] std::int64_t packed_bytes() const override { return gemms_.packed_bytes(); }

  [[nodiscard]] Status check(const LayerSchedules& schedules, bool /*scales_input*/) const override {
    return gemms_.check(schedules);
  }

  Status enqueue(const ExpertsRun& run, const LayerSchedules& schedules) const override {
    TILEWRIGHT_TRY(quantize_tokens(run));
    TILEWRIGHT_TRY(gemms_.launch(run, schedules.gemm1, first_params(run)));
    if (!ends_in_nvfp4_) TILEWRIGHT_TRY(quantize_intermediate(run));
    return gemms_.launch(run, schedules.gemm2, second_params(run));
  }

 private:
  [[nodiscard]] const LayerShape& shape() const { return gemms_.shape(); }

  [[nodiscard]] Status quantize_tokens(const ExpertsRun& run) const {
    QuantizeParams p{gemms_.token_items(run)};
    p.quant_multiplier = quant_multiplier_;
    p.input_scales = run.input_scales;
    return cuda_status(enqueue_quantize(p, run.stream), "launching the quantization of tokens");
  }

  [[nodiscard]] Status quantize_intermediate(const ExpertsRun& run) const {
    QuantizeParams p;
    p.x = run.unquantized;
    p.columns = static_cast<int>(shape().intermediate);
    p.items = run.slots;
    p.slot_rows = run.slot_rows;
    p.ranges = run.ranges;
    p.experts = shape().experts;
    p.group_rows = run.group_rows;
    p.tiles = run.inner;
    p.input_scales = run.input_scales;
    return cuda_status(enqueue_quantize(p, run.stream), "launching the quantization of intermediates");
  }

  [[nodiscard]] sm120::GemmParams first_params(const ExpertsRun& run) const {
    sm120::GemmParams p = gemms_.first_params(run);
    p.x_scales = quant_multiplier_ == 0.0F ? run.input_scales : nullptr;
    p.quant_multipliers = quant_multipliers_.as<float>();
    if (!ends_in_nvfp4_) p.y = run.unquantized;
    return p;
  }

  [[nodiscard]] sm120::GemmParams second_params(const ExpertsRun& run) const {
    sm120::GemmParams p = gemms_.second_params(run);
    p.x_scales = ends_in_nvfp4_ ? nullptr : run.input_scales;
    return p;
  }

  Sm120Gemms gemms_;
  DeviceBuffer quant_multipliers_;  ///< [experts], of GEMM2's input
  float quant_multiplier_;          ///< of GEMM1's; 0: a row's own
  bool ends_in_nvfp4_;
};

Result<InputScales> input_scales_of(const ExpertWeights& weights) {
  TILEWRIGHT_TRY(check_input_scales(weights));
  InputScales scales;
  scales.gemm1 = gemm1_input_scale(weights);
  for (const Nvfp4Expert& expert : weights.experts) {
    if (expert.down.input_scale) scales.gemm2.push_back(*expert.down.input_scale);
  }
  if (scales.gemm2.empty() || scales.gemm2.size() == weights.experts.size()) return scales;
  return fail(ErrorCode::unsupported,
              fmt::format("{} of {} experts have a down input scale; SM120's layer takes all or none",
                          scales.gemm2.size(), weights.experts.size()),
              "calibrate the checkpoint again, or run on the CPU backend");
}

}  // namespace

Result<std::unique_ptr<ExpertGemms>> make_sm120_experts(const ExpertWeights& weights, const ExpertsSetup& setup,
                                                        sm120::MmaPolicy policy) {
  TILEWRIGHT_ASSIGN(const InputScales scales, input_scales_of(weights));
  // An input scale that is known is part of the weights' scale; a row's own is multiplied by in the epilogue.
  std::vector<float> factors2 = scales.gemm2;
  factors2.resize(weights.experts.size(), 1.0F);
  TILEWRIGHT_ASSIGN(DeviceWeights packed,
                    DeviceWeights::pack(weights, WeightOrder::sm120, scales.gemm1.value_or(1.0F), factors2));
  const Epilogue ending = first_ending(setup.shape.gated, !scales.gemm2.empty());
  auto experts =
      std::make_unique<Sm120Experts>(Sm120Gemms(setup, Precision::w4a4, policy, ending, std::move(packed)), scales);
  TILEWRIGHT_TRY(experts->prepare(scales));
  return std::unique_ptr<ExpertGemms>(std::move(experts));
}

}  // namespace tilewright::cuda
