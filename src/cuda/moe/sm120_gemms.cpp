#include "cuda/moe/sm120_gemms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cuda/cuda_error.hpp"

namespace tilewright::cuda {

Sm120Gemms::Sm120Gemms(const ExpertsSetup& setup, Precision precision, sm120::MmaPolicy policy, Epilogue first_ending,
                       DeviceWeights weights)
    : setup_(setup),
      precision_(precision),
      policy_(policy),
      first_ending_(first_ending),
      weights_(std::move(weights)) {}

Status Sm120Gemms::prepare() {
  for (const sm120::BuiltGemm& gemm : sm120::built_gemms()) {
    const Epilogue ending = gemm.deepest.epilogue;
    if (gemm.policy != policy_ || gemm.deepest.precision != precision_) continue;
    if (ending != first_ending_ && ending != Epilogue::finalize) continue;
    TILEWRIGHT_TRY(cuda_status(gemm.prepare(), "preparing a grouped GEMM"));
    Schedule streams = gemm.deepest;
    streams.split.kind = SplitKind::stream_k;
    if (!sm120::takes(gemm, streams)) continue;
    partial_bytes_ = std::max(partial_bytes_, cuda::partial_bytes(streams, setup_.sm_count));
    flag_bytes_ = std::max(flag_bytes_, cuda::flag_bytes(streams, setup_.sm_count));
  }
  return {};
}

ExpertsBytes Sm120Gemms::bytes() const {
  ExpertsBytes needs;
  needs.partials = partial_bytes_;
  needs.flags = flag_bytes_;
  return needs;
}

Status Sm120Gemms::check(const LayerSchedules& schedules) const {
  TILEWRIGHT_TRY(check_ending(schedules.gemm1, first_ending_));
  TILEWRIGHT_TRY(check_ending(schedules.gemm2, Epilogue::finalize));
  TILEWRIGHT_TRY(sm120::find_gemm(schedules.gemm1, policy_));
  TILEWRIGHT_TRY(sm120::find_gemm(schedules.gemm2, policy_));
  return {};
}

Status Sm120Gemms::check_ending(const Schedule& schedule, Epilogue ending) const {
  if (schedule.precision == precision_ && schedule.epilogue == ending) return {};
  return fail(ErrorCode::unsupported,
              fmt::format("{} {} in a layer whose GEMM is {} and ends with {}", to_string(schedule.precision),
                          describe(schedule), to_string(precision_), to_string(ending)),
              "take schedules(tokens) of the layer, or another tile with that ending");
}

sm120::GemmParams Sm120Gemms::common_params(const ExpertsRun& run) const {
  sm120::GemmParams p;
  p.row_dest = run.row_dest;
  p.row_weights = run.row_weights;
  p.row_ranges = run.ranges;
  p.group_rows = run.group_rows;
  p.experts = shape().experts;
  p.ranges_ready = 1;  // of the sort, which the kernel that brings the tokens has waited for
  p.partials = run.partials;
  p.flags = run.flags;
  return p;
}

sm120::GemmParams Sm120Gemms::first_params(const ExpertsRun& run) const {
  sm120::GemmParams p = common_params(run);
  p.weights = weights_.gemm1.as<std::uint8_t>();
  p.expert_stride = weights_.stride1;
  p.row_scales = weights_.scales1.as<float>();
  p.x = static_cast<const std::uint8_t*>(run.rows);
  p.y = run.inner;
  p.y_stride = shape().intermediate;
  p.weight_rows = static_cast<int>(shape().gated ? 2 * shape().intermediate : shape().intermediate);
  p.k = static_cast<int>(shape().hidden);
  p.gated = gated_formula(setup_.activation);
  return p;
}

sm120::GemmParams Sm120Gemms::second_params(const ExpertsRun& run) const {
  sm120::GemmParams p = common_params(run);
  p.weights = weights_.gemm2.as<std::uint8_t>();
  p.expert_stride = weights_.stride2;
  p.row_scales = weights_.scales2.as<float>();
  p.x = static_cast<const std::uint8_t*>(run.inner);
  p.y = run.rows;
  p.y_stride = shape().hidden;
  p.weight_rows = static_cast<int>(shape().hidden);
  p.k = static_cast<int>(shape().intermediate);
  return p;
}

Status Sm120Gemms::launch(const ExpertsRun& run, const Schedule& schedule, const sm120::GemmParams& params) const {
  TILEWRIGHT_ASSIGN(const sm120::BuiltGemm* gemm, sm120::find_gemm(schedule, policy_));
  return sm120::launch_gemm(*gemm, schedule, params, run.slots, setup_.sm_count, true, run.stream);
}

RowItems Sm120Gemms::token_items(const ExpertsRun& run) const {
  const bool by_slot = run.input_weights != nullptr;
  RowItems items;
  items.x = run.x;
  items.columns = static_cast<int>(shape().hidden);
  items.items = by_slot ? run.slots : run.tokens;
  items.items_per_row = by_slot ? run.top_k : 1;
  items.slots_per_item = by_slot ? 1 : run.top_k;
  items.weights = run.input_weights;
  items.slot_rows = run.slot_rows;
  items.ranges = run.ranges;
  items.experts = shape().experts;
  items.group_rows = run.group_rows;
  items.tiles = run.rows;
  return items;
}

}  // namespace tilewright::cuda
