#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cuda/cuda_error.hpp"
#include "cuda/device.hpp"
#include "cuda/device_buffer.hpp"
#include "cuda/moe/kernel_choice.hpp"
#include "cuda/moe/layer_run.hpp"
#include "cuda/moe/moe_kernels.hpp"
#include "numerics/routing_rules.hpp"
#include "tilewright/cuda_layer.hpp"

namespace tilewright {

using cuda::cuda_status;
using cuda::DeviceBuffer;

struct CudaLayer::State {
  CudaLayerInfo info;
  cuda::LayerParts parts;
  cuda::ScheduleLadder ladder;
  DeviceBuffer host_run;  ///< of run_host: its inputs, its output and the workspace

  [[nodiscard]] cuda::WorkspaceLayout layout(int tokens, int top_k) const {
    const cuda::LayerShape& shape = parts.shape;
    const std::int64_t slots = std::int64_t{tokens} * top_k;
    return cuda::workspace_layout({tokens, top_k, shape.experts, shape.hidden,
                                   parts.gemms->bytes(slots, cuda::grouped_rows(slots, shape.experts))});
  }
};

namespace {

constexpr std::int64_t kMostSlots = std::int64_t{1} << 28U;  // the sort and the grouped rows count in 32 bits

Status check_shape(const ExpertWeights& weights) {
  const auto refuse = [](const char* what, std::int64_t value, const char* limit) -> Status {
    return fail(ErrorCode::unsupported, fmt::format("{} is {}; the CUDA kernels take {}", what, value, limit),
                "run on the CPU backend");
  };
  const auto experts = static_cast<std::int64_t>(weights.experts.size());
  if (experts < 1 || experts > cuda::kMaxExperts) return refuse("the number of experts", experts, "1 to 1024");
  if (weights.global_experts > cuda::kMaxExperts) {
    return refuse("the number of experts of all ranks", weights.global_experts, "1 to 1024");
  }
  if (weights.hidden < 16 || weights.hidden % 16 != 0) return refuse("H", weights.hidden, "multiples of 16");
  if (weights.intermediate < 16 || weights.intermediate % 16 != 0) {
    return refuse("I", weights.intermediate, "multiples of 16");
  }
  return {};
}

Status check_batch(const cuda::LayerParts& parts, const CudaBatch& batch, const void* workspace) {
  const auto refuse = [](std::string what, const char* remedy) -> Status {
    return fail(ErrorCode::invalid_argument, std::move(what), remedy);
  };
  if (batch.tokens < 0) return refuse(fmt::format("{} tokens", batch.tokens), "give 0 or more");
  if (batch.tokens == 0) return {};
  if (batch.x == nullptr || batch.y == nullptr) return refuse("x or y is null", "give device memory for both");
  if (workspace == nullptr) return refuse("the workspace is null", "give workspace_bytes(tokens) of device memory");
  const bool given = batch.ids != nullptr && batch.weights != nullptr;
  if ((batch.logits != nullptr) == given) {
    return refuse("a batch has either logits, or ids and weights", "give one of the two");
  }
  if (batch.logits != nullptr && (batch.bias != nullptr) != parts.routing.selection_bias) {
    return refuse(
        fmt::format("the routing {} a selection bias", parts.routing.selection_bias ? "has" : "does not have"),
        "give bias exactly where it does");
  }
  const int top_k = cuda::slots_per_token(parts, batch);
  if (top_k < 1 || std::int64_t{top_k} * batch.tokens > kMostSlots) {
    return refuse(fmt::format("{} tokens with {} slots each", batch.tokens, top_k),
                  "run the tokens in several batches");
  }
  return {};
}

Result<std::unique_ptr<cuda::ExpertGemms>> make_gemms(const ExpertWeights& weights, const cuda::ExpertsSetup& setup,
                                                      const cuda::KernelChoice& choice, Precision precision) {
  if (choice.arch == Arch::sm_90) return cuda::make_sm90_experts(weights, setup);
  if (precision == Precision::w4a16) return cuda::make_sm120_w4a16_experts(weights, setup, choice.policy);
  return cuda::make_sm120_experts(weights, setup, choice.policy);
}

/// Whether GEMM1's output waits for its rows' own input scales.
bool requantizes_rows(const ExpertWeights& weights) { return !weights.experts.front().down.input_scale; }

}  // namespace

CudaLayer::CudaLayer(std::unique_ptr<State> state) : state_(std::move(state)) {}
CudaLayer::CudaLayer(CudaLayer&&) noexcept = default;
CudaLayer& CudaLayer::operator=(CudaLayer&&) noexcept = default;
CudaLayer::~CudaLayer() = default;

Result<CudaLayer> CudaLayer::create(const ExpertWeights& weights, const Activation& activation, const Routing& routing,
                                    const CudaLayerOptions& options) {
  TILEWRIGHT_TRY(check(activation));
  TILEWRIGHT_TRY(check_shape(weights));
  TILEWRIGHT_TRY(check_routing(routing, weights.global_experts));
  if (activation.gated() != weights.gated) {
    return fail(ErrorCode::mismatch,
                fmt::format("the activation {} and weights {} gate", to_string(activation.kind),
                            weights.gated ? "with a" : "without a"),
                "take the activation from the model's config.json");
  }
  TILEWRIGHT_ASSIGN(const cuda::GpuInfo gpu, cuda::current_gpu());
  TILEWRIGHT_ASSIGN(const cuda::KernelChoice choice, cuda::choose_kernels(gpu, options));
  auto state = std::make_unique<State>();
  state->parts.routing = routing;
  state->parts.activation = activation;
  state->parts.first_expert = weights.first_expert;
  state->parts.shape = {static_cast<int>(weights.experts.size()),
                        weights.global_experts,
                        routing.top_k,
                        weights.hidden,
                        weights.intermediate,
                        weights.gated};
  TILEWRIGHT_TRY(cuda_status(cuda::prepare_sort(), "preparing the sort by expert"));
  const cuda::KernelSet kernels{choice.arch, options.precision, requantizes_rows(weights)};
  TILEWRIGHT_ASSIGN(state->ladder, cuda::ScheduleLadder::plan(gpu, state->parts.shape, kernels));
  const cuda::ExpertsSetup setup{state->parts.shape, activation, gpu.sm_count};
  TILEWRIGHT_ASSIGN(state->parts.gemms, make_gemms(weights, setup, choice, options.precision));
  state->info = {gpu.name,
                 gpu.sm_count,
                 choice.arch,
                 options.precision,
                 choice.emulates_mma,
                 weights.hidden,
                 state->parts.gemms->packed_bytes()};
  return CudaLayer(std::move(state));
}

std::int64_t CudaLayer::workspace_bytes(int tokens, int top_k) const {
  return state_->layout(std::max(tokens, 0), top_k == 0 ? state_->parts.shape.top_k : top_k).total;
}

LayerSchedules CudaLayer::schedules(int tokens) const { return state_->ladder.at(tokens); }

Status CudaLayer::use_schedules(const std::vector<ScheduleRung>& rungs) {
  for (const ScheduleRung& rung : rungs) {
    if (rung.tokens < 1) {
      return fail(ErrorCode::invalid_argument, fmt::format("a rung of {} tokens", rung.tokens), "give 1 or more");
    }
    TILEWRIGHT_TRY(state_->parts.gemms->check(rung.schedules, false));
  }
  for (const ScheduleRung& rung : rungs) state_->ladder.use(rung);
  return {};
}

Status CudaLayer::run(const CudaBatch& batch, void* workspace, void* stream) const {
  return run(batch, schedules(batch.tokens), workspace, stream);
}

Status CudaLayer::run(const CudaBatch& batch, const LayerSchedules& schedules, void* workspace, void* stream) const {
  TILEWRIGHT_TRY(check_batch(state_->parts, batch, workspace));
  if (batch.tokens == 0) return {};
  TILEWRIGHT_TRY(state_->parts.gemms->check(schedules, cuda::scales_input(state_->parts, batch)));
  const auto layout = state_->layout(batch.tokens, cuda::slots_per_token(state_->parts, batch));
  return cuda::enqueue_layer(state_->parts, batch, schedules, layout, workspace, static_cast<cudaStream_t>(stream));
}

Status CudaLayer::run_host(const bf16* x, const RoutedTokens& routed, float* y) {
  TILEWRIGHT_TRY(check_slots(routed, state_->parts.shape.global_experts));
  if (routed.tokens == 0) return {};
  const auto round = [](std::int64_t bytes) { return (bytes + 255) / 256 * 256; };
  const std::int64_t values = std::int64_t{routed.tokens} * state_->info.hidden;
  const auto slots = static_cast<std::int64_t>(routed.ids.size());
  const std::int64_t at_y = round(values * 2);
  const std::int64_t at_ids = at_y + round(values * 4);
  const std::int64_t at_weights = at_ids + round(slots * 4);
  const std::int64_t at_workspace = at_weights + round(slots * 4);
  const std::int64_t bytes = at_workspace + workspace_bytes(routed.tokens, routed.top_k);
  DeviceBuffer& memory = state_->host_run;
  if (memory.bytes() < bytes) {
    memory = DeviceBuffer();
    TILEWRIGHT_ASSIGN(memory, DeviceBuffer::allocate(bytes));
  }
  const auto copy = [](void* to, const void* from, std::int64_t count, cudaMemcpyKind kind) {
    return cuda_status(cudaMemcpy(to, from, static_cast<std::size_t>(count), kind), "copying a batch");
  };
  TILEWRIGHT_TRY(copy(memory.as(), x, values * 2, cudaMemcpyHostToDevice));
  TILEWRIGHT_TRY(copy(memory.as(at_ids), routed.ids.data(), slots * 4, cudaMemcpyHostToDevice));
  TILEWRIGHT_TRY(copy(memory.as(at_weights), routed.weights.data(), slots * 4, cudaMemcpyHostToDevice));
  CudaBatch batch;
  batch.x = memory.as();
  batch.tokens = routed.tokens;
  batch.ids = memory.as<std::int32_t>(at_ids);
  batch.weights = memory.as<float>(at_weights);
  batch.top_k = routed.top_k;
  batch.scale_input = routed.scale_input;
  batch.y = memory.as(at_y);
  TILEWRIGHT_TRY(run(batch, memory.as(at_workspace), nullptr));
  TILEWRIGHT_TRY(cuda_status(cudaDeviceSynchronize(), "running a layer"));
  return copy(y, memory.as(at_y), values * 4, cudaMemcpyDeviceToHost);
}

const CudaLayerInfo& CudaLayer::info() const { return state_->info; }

Status cuda_available(const CudaLayerOptions& options) {
  TILEWRIGHT_ASSIGN(const cuda::GpuInfo gpu, cuda::current_gpu());
  TILEWRIGHT_ASSIGN([[maybe_unused]] const cuda::KernelChoice choice, cuda::choose_kernels(gpu, options));
  return {};
}

}  // namespace tilewright
