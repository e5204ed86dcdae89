// The layer's GEMMs on SM90: w4a16, tokens gathered by GEMM1 or arranged before it.
#include <algorithm>
#include <utility>

#include "cuda/cuda_error.hpp"
#include "cuda/moe/device_weights.hpp"
#include "cuda/moe/expert_gemms.hpp"
#include "cuda/moe/moe_kernels.hpp"
#include "cuda/sm90/grouped_gemm.hpp"

namespace tilewright::cuda {
namespace {

/// The same GEMM1 with gathered tokens: scaled inputs are rows of their own already.
Schedule gathering(Schedule schedule) {
  schedule.token_load = TokenLoad::gather;
  return schedule;
}

class Sm90Experts : public ExpertGemms {
 public:
  Sm90Experts(const ExpertsSetup& setup, DeviceWeights weights) : setup_(setup), weights_(std::move(weights)) {}

  Status prepare() {
    for (const sm90::BuiltGemm& gemm : sm90::built_gemms()) {
      TILEWRIGHT_TRY(cuda_status(gemm.prepare(), "preparing a grouped GEMM"));
      const int blocks = sm90::launch_blocks(gemm.schedule, setup_.sm_count);
      partial_bytes_ = std::max(partial_bytes_, cuda::partial_bytes(gemm.schedule, blocks));
      flag_bytes_ = std::max(flag_bytes_, cuda::flag_bytes(gemm.schedule, blocks));
    }
    return {};
  }

  [[nodiscard]] ExpertsBytes bytes(std::int64_t /*slots*/, std::int64_t group_rows) const override {
    ExpertsBytes needs;
    needs.partials = partial_bytes_;
    needs.flags = flag_bytes_;
    needs.arranged = sm90::tile_order_bytes(group_rows, shape().hidden);
    needs.inner = sm90::tile_order_bytes(group_rows, shape().intermediate);
    return needs;
  }
  [[nodiscard]] std::int64_t packed_bytes() const override { return weights_.gemm1.bytes() + weights_.gemm2.bytes(); }

  [[nodiscard]] Status check(const LayerSchedules& schedules, bool scales_input) const override {
    TILEWRIGHT_TRY(sm90::find_gemm(scales_input ? gathering(schedules.gemm1) : schedules.gemm1));
    TILEWRIGHT_TRY(sm90::find_gemm(schedules.gemm2));
    return {};
  }

  Status enqueue(const ExpertsRun& run, const LayerSchedules& schedules) const override {
    const bool scales = run.input_weights != nullptr;
    const Schedule first = scales ? gathering(schedules.gemm1) : schedules.gemm1;
    const bool arranges = first.token_load == TokenLoad::tile_order;
    if (scales) TILEWRIGHT_TRY(scale(run));
    if (arranges) TILEWRIGHT_TRY(arrange(run));
    TILEWRIGHT_TRY(launch(run, first, first_params(run, arranges)));
    return launch(run, schedules.gemm2, second_params(run));
  }

 private:
  [[nodiscard]] const LayerShape& shape() const { return setup_.shape; }

  [[nodiscard]] Status scale(const ExpertsRun& run) const {
    ScaleParams p;
    p.x = run.x;
    p.weights = run.input_weights;
    p.slots = run.slots;
    p.top_k = run.top_k;
    p.hidden = static_cast<int>(shape().hidden);
    p.scaled = run.rows;
    return cuda_status(enqueue_scale(p, run.stream), "launching the scaling of inputs");
  }

  [[nodiscard]] Status arrange(const ExpertsRun& run) const {
    ArrangeParams p;
    p.x = run.x;
    p.tokens = run.tokens;
    p.top_k = run.top_k;
    p.hidden = static_cast<int>(shape().hidden);
    p.experts = shape().experts;
    p.slot_rows = run.slot_rows;
    p.ranges = run.ranges;
    p.group_rows = run.group_rows;
    p.tiles = run.rows;
    return cuda_status(enqueue_arrange(p, run.stream), "launching the arrangement of tokens");
  }

  [[nodiscard]] sm90::GemmParams common_params(const ExpertsRun& run) const {
    sm90::GemmParams p;
    p.row_source = run.row_source;
    p.row_dest = run.row_dest;
    p.row_weights = run.row_weights;
    p.row_ranges = run.ranges;
    p.group_rows = run.group_rows;
    p.experts = shape().experts;
    p.partials = run.partials;
    p.flags = run.flags;
    return p;
  }

  [[nodiscard]] sm90::GemmParams first_params(const ExpertsRun& run, bool arranges) const {
    const bool staged = arranges || run.input_weights != nullptr;
    sm90::GemmParams p = common_params(run);
    p.weights = weights_.gemm1.as<std::uint8_t>();
    p.expert_stride = weights_.stride1;
    p.row_scales = weights_.scales1.as<float>();
    p.x = staged ? run.rows : run.x;
    p.x_stride = shape().hidden;
    p.y = run.inner;
    p.weight_rows = static_cast<int>(shape().gated ? 2 * shape().intermediate : shape().intermediate);
    p.k = static_cast<int>(shape().hidden);
    p.gated = gated_formula(setup_.activation);
    p.ranges_ready = staged ? 1 : 0;
    return p;
  }

  [[nodiscard]] sm90::GemmParams second_params(const ExpertsRun& run) const {
    sm90::GemmParams p = common_params(run);
    p.weights = weights_.gemm2.as<std::uint8_t>();
    p.expert_stride = weights_.stride2;
    p.row_scales = weights_.scales2.as<float>();
    p.x = run.inner;
    p.y = run.rows;
    p.y_stride = shape().hidden;
    p.weight_rows = static_cast<int>(shape().hidden);
    p.k = static_cast<int>(shape().intermediate);
    p.ranges_ready = 1;
    return p;
  }

  [[nodiscard]] Status launch(const ExpertsRun& run, const Schedule& schedule, const sm90::GemmParams& params) const {
    TILEWRIGHT_ASSIGN(const sm90::BuiltGemm* gemm, sm90::find_gemm(schedule));
    const int blocks = sm90::launch_blocks(schedule, setup_.sm_count);
    return sm90::launch_gemm(*gemm, params, run.slots, blocks, true, run.stream);
  }

  ExpertsSetup setup_;
  DeviceWeights weights_;
  std::int64_t partial_bytes_ = 0;
  std::int64_t flag_bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<ExpertGemms>> make_sm90_experts(const ExpertWeights& weights, const ExpertsSetup& setup) {
  const std::vector<float> factors2(weights.experts.size(), sm90::kWeightUnbias);
  TILEWRIGHT_ASSIGN(DeviceWeights packed,
                    DeviceWeights::pack(weights, WeightOrder::sm90, sm90::kWeightUnbias, factors2));
  auto experts = std::make_unique<Sm90Experts>(setup, std::move(packed));
  TILEWRIGHT_TRY(experts->prepare());
  return std::unique_ptr<ExpertGemms>(std::move(experts));
}

}  // namespace tilewright::cuda
