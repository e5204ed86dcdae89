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

  Status enqueue(const sm90::BuiltGemm& gemm1, const sm90::BuiltGemm& gemm2) {
    if (routes_) TILEWRIGHT_TRY(route());
    TILEWRIGHT_TRY(sort());
    const bool arranges = gemm1.schedule.token_load == TokenLoad::tile_order;
    if (scales_input_) TILEWRIGHT_TRY(scale());
    if (arranges) TILEWRIGHT_TRY(arrange());
    TILEWRIGHT_TRY(launch(gemm1, first_params(arranges)));
    TILEWRIGHT_TRY(launch(gemm2, second_params()));
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

  [[nodiscard]] Status scale() const {
    ScaleParams p;
    p.x = batch_.x;
    p.weights = slot_weights();
    p.slots = slots_;
    p.top_k = top_k_;
    p.hidden = static_cast<int>(shape_.hidden);
    p.scaled = at<void>(layout_.rows);
    return cuda_status(enqueue_scale(p, stream_), "launching the scaling of inputs");
  }

  [[nodiscard]] Status arrange() const {
    ArrangeParams p;
    p.x = batch_.x;
    p.tokens = batch_.tokens;
    p.top_k = top_k_;
    p.hidden = static_cast<int>(shape_.hidden);
    p.experts = shape_.experts;
    p.slot_rows = at<std::int32_t>(layout_.slot_rows);
    p.ranges = at<RowRange>(layout_.ranges);
    p.group_rows = layout_.group_rows;
    p.tiles = at<void>(layout_.rows);
    return cuda_status(enqueue_arrange(p, stream_), "launching the arrangement of tokens");
  }

  [[nodiscard]] sm90::GemmParams common_params() const {
    sm90::GemmParams p;
    p.row_source = at<std::int32_t>(layout_.row_source);
    p.row_dest = at<std::int32_t>(layout_.row_dest);
    p.row_weights = at<float>(layout_.row_weights);
    p.row_ranges = at<RowRange>(layout_.ranges);
    p.group_rows = layout_.group_rows;
    p.experts = shape_.experts;
    p.partials = at<float>(layout_.partials);
    p.flags = at<unsigned>(layout_.flags);
    return p;
  }

  [[nodiscard]] sm90::GemmParams first_params(bool arranges) const {
    sm90::GemmParams p = common_params();
    p.weights = parts_.weights.gemm1.as<std::uint8_t>();
    p.expert_stride = parts_.weights.stride1;
    p.row_scales = parts_.weights.scales1.as<float>();
    p.x = arranges || scales_input_ ? at<void>(layout_.rows) : batch_.x;
    p.x_stride = shape_.hidden;
    p.y = at<void>(layout_.inner);
    p.weight_rows = static_cast<int>(shape_.gated ? 2 * shape_.intermediate : shape_.intermediate);
    p.k = static_cast<int>(shape_.hidden);
    p.gated = gated_formula(parts_.activation);
    p.ranges_ready = arranges || scales_input_ ? 1 : 0;
    return p;
  }

  [[nodiscard]] sm90::GemmParams second_params() const {
    sm90::GemmParams p = common_params();
    p.weights = parts_.weights.gemm2.as<std::uint8_t>();
    p.expert_stride = parts_.weights.stride2;
    p.row_scales = parts_.weights.scales2.as<float>();
    p.x = at<void>(layout_.inner);
    p.y = at<void>(layout_.rows);
    p.y_stride = shape_.hidden;
    p.weight_rows = static_cast<int>(shape_.hidden);
    p.k = static_cast<int>(shape_.intermediate);
    p.ranges_ready = 1;
    return p;
  }

  [[nodiscard]] Status launch(const sm90::BuiltGemm& gemm, const sm90::GemmParams& params) const {
    const int blocks = sm90::launch_blocks(gemm.schedule, parts_.sm_count);
    return sm90::launch_gemm(gemm, params, slots_, blocks, true, stream_);
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

Status enqueue_layer(const LayerParts& parts, const CudaBatch& batch, const LayerKernels& kernels,
                     const WorkspaceLayout& layout, void* workspace, cudaStream_t stream) {
  return LayerRun(parts, batch, layout, workspace, stream).enqueue(*kernels.gemm1, *kernels.gemm2);
}

}  // namespace tilewright::cuda
