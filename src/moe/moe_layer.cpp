#include "tilewright/moe_layer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cpu/cpu_experts.hpp"
#include "tilewright/cpu_backend.hpp"

namespace tilewright {

const char* to_string(Backend backend) {
  switch (backend) {
    case Backend::cpu: return "cpu";
  }
  return "unknown";
}

Result<Backend> parse_backend(const std::string& name) {
  if (name == "cpu") return Backend::cpu;
  if (name == "cuda") {
    return fail(ErrorCode::unsupported, "this build has no CUDA backend", "run with --backend cpu");
  }
  return fail(ErrorCode::invalid_argument, fmt::format("unknown backend '{}'", name), "the backends are: cpu");
}

struct MoeLayer::State {
  cpu::CpuExperts experts;
  Routing routing;
  MoeLayerOptions options;
  int global_experts = 0;
};

MoeLayer::MoeLayer(std::unique_ptr<State> state) : state_(std::move(state)) {}
MoeLayer::MoeLayer(MoeLayer&&) noexcept = default;
MoeLayer& MoeLayer::operator=(MoeLayer&&) noexcept = default;
MoeLayer::~MoeLayer() = default;

Result<MoeLayer> MoeLayer::create(const ExpertWeights& weights, const Activation& activation, const Routing& routing,
                                  const MoeLayerOptions& options) {
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
  return MoeLayer(std::unique_ptr<State>(new State{std::move(experts), routing, resolved, weights.global_experts}));
}

Status MoeLayer::run(const bf16* x, const RoutedTokens& routed, float* y) { return state_->experts.run(x, routed, y); }

Status MoeLayer::run(const bf16* x, int tokens, const float* logits, const std::vector<float>& bias, float* y) {
  TILEWRIGHT_ASSIGN(const RoutedTokens routed, route(state_->routing, logits, tokens, state_->global_experts, bias));
  return run(x, routed, y);
}

std::int64_t MoeLayer::hidden() const { return state_->experts.hidden(); }
std::int64_t MoeLayer::packed_bytes() const { return static_cast<std::int64_t>(packed_memory().size()); }
std::span<const std::uint8_t> MoeLayer::packed_memory() const { return state_->experts.packed_memory(); }
const MoeLayerOptions& MoeLayer::options() const { return state_->options; }

std::int64_t expert_bytes(const ExpertWeights& weights) {
  const std::int64_t matrices = weights.gated ? 3 : 2;
  return matrices * weights.hidden * weights.intermediate * 9 / 16;
}

}  // namespace tilewright
