#include "cuda/moe/layer_run.hpp"

#include "cuda/cuda_error.hpp"
#include "cuda/moe/moe_kernels.hpp"

namespace tilewright::cuda {
namespace {

/// One run: where everything is, and the launches in their order.
class LayerRun {
 public:
  LayerRun(const LayerParts& parts, const CudaBatch& batch, const WorkspaceLayout& layout, void* workspace,
           cudaStream_t stream)
      : parts_(parts),
        shape_(parts.shape),
        batch_(batch),
        layout_(layout),
        workspace_(static_cast<std::uint8_t*>(workspace)),
        stream_(stream),
        routes_(batch.logits != nullptr),
        scales_input_(scales_input(parts, batch)),
        top_k_(slots_per_token(parts, batch)),
        slots_(batch.tokens * top_k_) {}

  Status enqueue(const ExpertGemms& gemms, const LayerSchedules& schedules) {
    if (routes_) TILEWRIGHT_TRY(route());
    TILEWRIGHT_TRY(sort());
    TILEWRIGHT_TRY(gemms.enqueue(experts_run(), schedules));
    return combine();
  }

 private:
  template <typename T>
  [[nodiscard]] T* at(std::int64_t offset) const {
    return reinterpret_cast<T*>(workspace_ + offset);
  }
  [[nodiscard]] const std::int32_t* ids() const { return routes_ ? at<std::int32_t>(layout_.ids) : batch_.ids; }
  [[nodiscard]] const float* slot_weights() const { return routes_ ? at<float>(layout_.weights) : batch_.weights; }

  [[nodiscard]] Status route() const {
    RouteParams p;
    p.logits = batch_.logits;
    p.bias = batch_.bias;
    p.tokens = batch_.tokens;
    p.experts = shape_.global_experts;
    p.routing = parts_.routing;
    p.ids = at<std::int32_t>(layout_.ids);
    p.weights = at<float>(layout_.weights);
    return cuda_status(enqueue_route(p, true, stream_), "launching the routing");
  }

  [[nodiscard]] Status sort() const {
    SortParams p;
    p.ids = ids();
    p.weights = slot_weights();
    p.slots = slots_;
    p.top_k = top_k_;
    p.first_expert = parts_.first_expert;
    p.experts = shape_.experts;
    p.scale_input = scales_input_;
    p.ranges = at<RowRange>(layout_.ranges);
    p.row_source = at<std::int32_t>(layout_.row_source);
    p.row_dest = at<std::int32_t>(layout_.row_dest);
    p.row_weights = at<float>(layout_.row_weights);
    p.slot_rows = at<std::int32_t>(layout_.slot_rows);
    p.flags = at<unsigned>(layout_.flags);
    p.flag_count = static_cast<int>((layout_.partials - layout_.flags) / 4);
    return cuda_status(enqueue_sort(p, true, stream_), "launching the sort by expert");
  }

  [[nodiscard]] ExpertsRun experts_run() const {
    ExpertsRun run;
    run.x = batch_.x;
    run.tokens = batch_.tokens;
    run.top_k = top_k_;
    run.slots = slots_;
    run.input_weights = scales_input_ ? slot_weights() : nullptr;
    run.ranges = at<RowRange>(layout_.ranges);
    run.row_source = at<std::int32_t>(layout_.row_source);
    run.row_dest = at<std::int32_t>(layout_.row_dest);
    run.row_weights = at<float>(layout_.row_weights);
    run.slot_rows = at<std::int32_t>(layout_.slot_rows);
    run.group_rows = layout_.group_rows;
    run.partials = at<float>(layout_.partials);
    run.flags = at<unsigned>(layout_.flags);
    run.input_scales = at<float>(layout_.input_scales);
    run.unquantized = at<void>(layout_.unquantized);
    run.inner = at<void>(layout_.inner);
    run.rows = at<void>(layout_.rows);
    run.stream = stream_;
    return run;
  }

  [[nodiscard]] Status combine() const {
    CombineParams p;
    p.rows = at<void>(layout_.rows);
    p.slot_rows = at<std::int32_t>(layout_.slot_rows);
    p.tokens = batch_.tokens;
    p.top_k = top_k_;
    p.hidden = static_cast<int>(shape_.hidden);
    p.y = batch_.y;
    p.y_bf16 = batch_.y_bf16;
    return cuda_status(enqueue_combine(p, stream_), "launching the combine");
  }

  const LayerParts& parts_;
  const LayerShape& shape_;
  const CudaBatch& batch_;
  const WorkspaceLayout& layout_;
  std::uint8_t* workspace_;
  cudaStream_t stream_;
  bool routes_;
  bool scales_input_;
  int top_k_;
  int slots_;
};

}  // namespace

bool scales_input(const LayerParts& parts, const CudaBatch& batch) {
  return batch.logits != nullptr ? parts.routing.scoring == Scoring::sigmoid_on_input : batch.scale_input;
}

int slots_per_token(const LayerParts& parts, const CudaBatch& batch) {
  return batch.logits != nullptr || batch.top_k == 0 ? parts.routing.top_k : batch.top_k;
}

Status enqueue_layer(const LayerParts& parts, const CudaBatch& batch, const LayerSchedules& schedules,
                     const WorkspaceLayout& layout, void* workspace, cudaStream_t stream) {
  return LayerRun(parts, batch, layout, workspace, stream).enqueue(*parts.gemms, schedules);
}

}  // namespace tilewright::cuda
