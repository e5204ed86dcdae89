// The layer's GEMMs on SM120's kernels: w4a4, tokens quantized into tile order before GEMM1. Where the checkpoint has
// GEMM2's input scales, GEMM1 ends in NVFP4 itself; where it has none, it ends in bf16 and each row is quantized by its
// own largest magnitude.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "cuda/cuda_error.hpp"
#include "cuda/moe/device_weights.hpp"
#include "cuda/moe/expert_gemms.hpp"
#include "cuda/moe/moe_kernels.hpp"
#include "numerics/input_scales.hpp"

namespace tilewright::cuda {
namespace {

/// The input scales of a layer: what GEMM1's tokens and GEMM2's intermediates are quantized with.
struct InputScales {
  std::optional<float> gemm1;  ///< none: a row's own
  std::vector<float> gemm2;    ///< of each expert; empty: a row's own
};

class Sm120Experts : public ExpertGemms {
 public:
  Sm120Experts(const ExpertsSetup& setup, sm120::MmaPolicy policy, DeviceWeights weights, const InputScales& scales)
      : setup_(setup),
        policy_(policy),
        weights_(std::move(weights)),
        quant_multiplier_(scales.gemm1 ? quant_multiplier(*scales.gemm1) : 0.0F),
        ends_in_nvfp4_(!scales.gemm2.empty()) {}

  Status prepare(const InputScales& scales) {
    std::vector<float> multipliers;
    for (const float scale : scales.gemm2) multipliers.push_back(quant_multiplier(scale));
    TILEWRIGHT_ASSIGN(quant_multipliers_, upload(multipliers));
    for (const sm120::BuiltGemm& gemm : sm120::built_gemms()) {
      const Epilogue ending = gemm.deepest.epilogue;
      if (gemm.policy != policy_ || (ending != first_ending() && ending != Epilogue::finalize)) continue;
      TILEWRIGHT_TRY(cuda_status(gemm.prepare(), "preparing a grouped GEMM"));
      Schedule streams = gemm.deepest;
      streams.split.kind = SplitKind::stream_k;
      if (!sm120::takes(gemm, streams)) continue;
      partial_bytes_ = std::max(partial_bytes_, cuda::partial_bytes(streams, setup_.sm_count));
      flag_bytes_ = std::max(flag_bytes_, cuda::flag_bytes(streams, setup_.sm_count));
    }
    return {};
  }

  [[nodiscard]] ExpertsBytes bytes(std::int64_t slots, std::int64_t group_rows) const override {
    ExpertsBytes needs;
    needs.partials = partial_bytes_;
    needs.flags = flag_bytes_;
    needs.arranged = sm120::token_bytes(group_rows, shape().hidden);
    needs.inner = sm120::token_bytes(group_rows, shape().intermediate);
    needs.unquantized = ends_in_nvfp4_ ? 0 : slots * shape().intermediate * 2;
    needs.input_scales = ends_in_nvfp4_ && quant_multiplier_ != 0.0F ? 0 : group_rows * 4;
    return needs;
  }
  [[nodiscard]] std::int64_t packed_bytes() const override { return weights_.gemm1.bytes() + weights_.gemm2.bytes(); }

  [[nodiscard]] Status check(const LayerSchedules& schedules, bool /*scales_input*/) const override {
    TILEWRIGHT_TRY(check_ending(schedules.gemm1, first_ending()));
    TILEWRIGHT_TRY(check_ending(schedules.gemm2, Epilogue::finalize));
    TILEWRIGHT_TRY(sm120::find_gemm(schedules.gemm1, policy_));
    TILEWRIGHT_TRY(sm120::find_gemm(schedules.gemm2, policy_));
    return {};
  }

  Status enqueue(const ExpertsRun& run, const LayerSchedules& schedules) const override {
    TILEWRIGHT_TRY(quantize_tokens(run));
    TILEWRIGHT_TRY(launch(run, schedules.gemm1, first_params(run)));
    if (!ends_in_nvfp4_) TILEWRIGHT_TRY(quantize_intermediate(run));
    return launch(run, schedules.gemm2, second_params(run));
  }

 private:
  [[nodiscard]] const LayerShape& shape() const { return setup_.shape; }
  [[nodiscard]] Epilogue first_ending() const {
    if (shape().gated) return ends_in_nvfp4_ ? Epilogue::gated_nvfp4 : Epilogue::gated_bf16;
    return ends_in_nvfp4_ ? Epilogue::act_nvfp4 : Epilogue::act_bf16;
  }

  static Status check_ending(const Schedule& schedule, Epilogue ending) {
    if (schedule.epilogue == ending) return {};
    return fail(ErrorCode::unsupported,
                fmt::format("{} in a layer whose GEMM ends with {}", describe(schedule), to_string(ending)),
                "take schedules(tokens) of the layer, or another tile with that ending");
  }

  [[nodiscard]] QuantizeParams common_quantize(const ExpertsRun& run) const {
    QuantizeParams p;
    p.slot_rows = run.slot_rows;
    p.ranges = run.ranges;
    p.experts = shape().experts;
    p.group_rows = run.group_rows;
    p.input_scales = run.input_scales;
    return p;
  }

  [[nodiscard]] Status quantize_tokens(const ExpertsRun& run) const {
    QuantizeParams p = common_quantize(run);
    p.x = run.x;
    p.columns = static_cast<int>(shape().hidden);
    p.weights = run.input_weights;
    const bool by_slot = run.input_weights != nullptr;
    p.items = by_slot ? run.slots : run.tokens;
    p.items_per_row = by_slot ? run.top_k : 1;
    p.slots_per_item = by_slot ? 1 : run.top_k;
    p.quant_multiplier = quant_multiplier_;
    p.tiles = run.rows;
    return cuda_status(enqueue_quantize(p, run.stream), "launching the quantization of tokens");
  }

  [[nodiscard]] Status quantize_intermediate(const ExpertsRun& run) const {
    QuantizeParams p = common_quantize(run);
    p.x = run.unquantized;
    p.columns = static_cast<int>(shape().intermediate);
    p.items = run.slots;
    p.tiles = run.inner;
    return cuda_status(enqueue_quantize(p, run.stream), "launching the quantization of intermediates");
  }

  [[nodiscard]] sm120::GemmParams common_params(const ExpertsRun& run) const {
    sm120::GemmParams p;
    p.row_dest = run.row_dest;
    p.row_weights = run.row_weights;
    p.row_ranges = run.ranges;
    p.group_rows = run.group_rows;
    p.experts = shape().experts;
    p.ranges_ready = 1;  // of the sort, which the quantization has waited for
    p.partials = run.partials;
    p.flags = run.flags;
    return p;
  }

  [[nodiscard]] sm120::GemmParams first_params(const ExpertsRun& run) const {
    sm120::GemmParams p = common_params(run);
    p.weights = weights_.gemm1.as<std::uint8_t>();
    p.expert_stride = weights_.stride1;
    p.row_scales = weights_.scales1.as<float>();
    p.x = static_cast<const std::uint8_t*>(run.rows);
    p.x_scales = quant_multiplier_ == 0.0F ? run.input_scales : nullptr;
    p.quant_multipliers = quant_multipliers_.as<float>();
    p.y = ends_in_nvfp4_ ? run.inner : run.unquantized;
    p.y_stride = shape().intermediate;
    p.weight_rows = static_cast<int>(shape().gated ? 2 * shape().intermediate : shape().intermediate);
    p.k = static_cast<int>(shape().hidden);
    p.gated = gated_formula(setup_.activation);
    return p;
  }

  [[nodiscard]] sm120::GemmParams second_params(const ExpertsRun& run) const {
    sm120::GemmParams p = common_params(run);
    p.weights = weights_.gemm2.as<std::uint8_t>();
    p.expert_stride = weights_.stride2;
    p.row_scales = weights_.scales2.as<float>();
    p.x = static_cast<const std::uint8_t*>(run.inner);
    p.x_scales = ends_in_nvfp4_ ? nullptr : run.input_scales;
    p.y = run.rows;
    p.y_stride = shape().hidden;
    p.weight_rows = static_cast<int>(shape().hidden);
    p.k = static_cast<int>(shape().intermediate);
    return p;
  }

  [[nodiscard]] Status launch(const ExpertsRun& run, const Schedule& schedule, const sm120::GemmParams& params) const {
    TILEWRIGHT_ASSIGN(const sm120::BuiltGemm* gemm, sm120::find_gemm(schedule, policy_));
    return sm120::launch_gemm(*gemm, schedule, params, run.slots, setup_.sm_count, true, run.stream);
  }

  ExpertsSetup setup_;
  sm120::MmaPolicy policy_;
  DeviceWeights weights_;
  DeviceBuffer quant_multipliers_;  ///< [experts], of GEMM2's input
  float quant_multiplier_;          ///< of GEMM1's; 0: a row's own
  bool ends_in_nvfp4_;
  std::int64_t partial_bytes_ = 0;
  std::int64_t flag_bytes_ = 0;
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
  auto experts = std::make_unique<Sm120Experts>(setup, policy, std::move(packed), scales);
  TILEWRIGHT_TRY(experts->prepare(scales));
  return std::unique_ptr<ExpertGemms>(std::move(experts));
}

}  // namespace tilewright::cuda
