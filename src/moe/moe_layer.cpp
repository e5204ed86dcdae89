#include "tilewright/moe_layer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "cpu/cpu_experts.hpp"
#include "tilewright/cpu_backend.hpp"
#include "tilewright/cuda_layer.hpp"

namespace tilewright {

const char* to_string(Backend backend) {
  switch (backend) {
    case Backend::cpu: return "cpu";
    case Backend::cuda: return "cuda";
  }
  return "unknown";
}

Result<Backend> parse_backend(const std::string& name) {
  for (const Backend backend : {Backend::cpu, Backend::cuda}) {
    if (name == to_string(backend)) return backend;
  }
  return fail(ErrorCode::invalid_argument, fmt::format("unknown backend '{}'", name), "the backends are: cpu, cuda");
}

namespace {

CudaLayerOptions cuda_options(const MoeLayerOptions& options) {
  return {options.precision, options.arch, options.emulate_mma};
}

Status check_cuda_options(const MoeLayerOptions& options) {
  if (!options.isa.empty()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("isa '{}' is of the cpu backend, and cuda is asked for", options.isa),
                "leave it out, or run on the CPU backend");
  }
  if (options.threads != 0) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} threads are of the cpu backend, and cuda is asked for", options.threads),
                "leave them out, or run on the CPU backend");
  }
  return cuda_available(cuda_options(options));
}

}  // namespace

Status check_options(const MoeLayerOptions& options) {
  if (options.backend == Backend::cuda) return check_cuda_options(options);
  if (options.arch || options.emulate_mma) {
    return fail(ErrorCode::invalid_argument,
                options.arch
                    ? fmt::format("arch {} is of the cuda backend, and cpu is asked for", to_string(*options.arch))
                    : std::string("an emulated MMA is of the cuda backend, and cpu is asked for"),
                "leave it out, or run on the CUDA backend");
  }
  if (!options.isa.empty()) TILEWRIGHT_TRY(cpu::select_tier(options.isa));
  return {};
}

struct MoeLayer::State {
  std::variant<cpu::CpuExperts, CudaLayer> experts;
  Routing routing;
  MoeLayerOptions options;  // resolved
  int global_experts = 0;
};

MoeLayer::MoeLayer(std::unique_ptr<State> state) : state_(std::move(state)) {}
MoeLayer::MoeLayer(MoeLayer&&) noexcept = default;
MoeLayer& MoeLayer::operator=(MoeLayer&&) noexcept = default;
MoeLayer::~MoeLayer() = default;

Result<MoeLayer> MoeLayer::create(const ExpertWeights& weights, const Activation& activation, const Routing& routing,
                                  const MoeLayerOptions& options) {
  TILEWRIGHT_TRY(check_options(options));
  const auto with = [&](std::variant<cpu::CpuExperts, CudaLayer> experts, MoeLayerOptions resolved) {
    return MoeLayer(
        std::unique_ptr<State>(new State{std::move(experts), routing, std::move(resolved), weights.global_experts}));
  };
  if (options.backend == Backend::cuda) {
    TILEWRIGHT_ASSIGN(CudaLayer layer, CudaLayer::create(weights, activation, routing, cuda_options(options)));
    return with(std::move(layer), options);
  }
  cpu::CpuExpertsOptions cpu_options;
  cpu_options.precision = options.precision;
  cpu_options.tier = cpu::best_tier();
  if (!options.isa.empty()) {
    TILEWRIGHT_ASSIGN(cpu_options.tier, cpu::select_tier(options.isa));
  }
  const int cores = cpu_info().cores;
  cpu_options.threads = options.threads > 0 ? std::min(options.threads, cores) : cores;
  TILEWRIGHT_ASSIGN(cpu::CpuExperts experts, cpu::CpuExperts::create(weights, activation, cpu_options));
  MoeLayerOptions resolved = options;
  resolved.isa = cpu::to_string(cpu_options.tier);
  resolved.threads = cpu_options.threads;
  return with(std::move(experts), std::move(resolved));
}

Status MoeLayer::run(const bf16* x, const RoutedTokens& routed, float* y) {
  if (auto* layer = std::get_if<CudaLayer>(&state_->experts)) return layer->run_host(x, routed, y);
  return std::get<cpu::CpuExperts>(state_->experts).run(x, routed, y);
}

Status MoeLayer::run(const bf16* x, int tokens, const float* logits, const std::vector<float>& bias, float* y) {
  TILEWRIGHT_ASSIGN(const RoutedTokens routed, route(state_->routing, logits, tokens, state_->global_experts, bias));
  return run(x, routed, y);
}

std::int64_t MoeLayer::hidden() const {
  if (const CudaLayer* layer = cuda()) return layer->info().hidden;
  return std::get<cpu::CpuExperts>(state_->experts).hidden();
}

std::int64_t MoeLayer::packed_bytes() const {
  if (const CudaLayer* layer = cuda()) return layer->info().packed_bytes;
  return static_cast<std::int64_t>(packed_memory().size());
}

std::span<const std::uint8_t> MoeLayer::packed_memory() const {
  const auto* experts = std::get_if<cpu::CpuExperts>(&state_->experts);
  return experts != nullptr ? experts->packed_memory() : std::span<const std::uint8_t>();
}

const MoeLayerOptions& MoeLayer::options() const { return state_->options; }
CudaLayer* MoeLayer::cuda() { return std::get_if<CudaLayer>(&state_->experts); }
const CudaLayer* MoeLayer::cuda() const { return std::get_if<CudaLayer>(&state_->experts); }

std::int64_t expert_bytes(const ExpertWeights& weights) {
  const std::int64_t matrices = weights.gated ? 3 : 2;
  return matrices * weights.hidden * weights.intermediate * 9 / 16;
}

}  // namespace tilewright
