#include "cuda/layer_case.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <stdexcept>

#include "cuda/device_memory.hpp"
#include "cuda/moe/moe_kernels.hpp"

namespace tilewright::cuda {
namespace {

constexpr unsigned char kPoison = 0xFF;  // NaN in bf16 and fp32

template <typename T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message());
  return std::move(*result);
}

void must(const Status& status) {
  if (!status) throw std::runtime_error(status.error().message());
}

Routing routing_of(const LayerCase& test) {
  Routing routing;
  routing.top_k = test.top_k;
  return routing;
}

std::vector<float> random_logits(int tokens, int experts, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> logits(static_cast<std::size_t>(tokens) * static_cast<std::size_t>(experts));
  for (float& logit : logits) logit = normal(random);
  return logits;
}

/// A case with everything that its run needs on the device.
class Problem {
 public:
  explicit Problem(const LayerCase& test) : test_(test) {
    layer_ = weights_.random_layer(test.hidden, test.intermediate, test.experts, test.activation.gated(),
                                   test.static_scales);
    const int local = test.local_experts == 0 ? test.experts : test.local_experts;
    layer_.first_expert = test.first_expert;
    layer_.experts = {layer_.experts.begin() + test.first_expert, layer_.experts.begin() + test.first_expert + local};
    x_ = weights_.random_rows(test.tokens, test.hidden);
    logits_ = random_logits(test.tokens, test.experts, 5);
    routed_ = test.from_logits ? value_of(route(routing_of(test), logits_.data(), test.tokens, test.experts))
                               : weights_.random_routing(test.tokens, test.top_k, test.experts);
    if (test.one_expert) std::fill(routed_.ids.begin(), routed_.ids.end(), 0);
    routed_.scale_input = test.scale_input;
  }

  [[nodiscard]] CudaLayer make() const {
    return value_of(CudaLayer::create(layer_, test_.activation, routing_of(test_), test_.kernels));
  }

  /// Uploads the inputs and poisons y and the workspace; the batch stays valid as long as this.
  CudaBatch batch(const CudaLayer& layer) {
    device_.clear();
    device_.emplace_back(x_);
    device_.emplace_back(routed_.ids);
    device_.emplace_back(routed_.weights);
    device_.emplace_back(logits_);
    device_.emplace_back(y_bytes());
    device_.emplace_back(layer.workspace_bytes(test_.tokens));
    device_[4].fill(kPoison);
    device_[5].fill(kPoison);
    CudaBatch batch;
    batch.x = device_[0].as<void>();
    batch.tokens = test_.tokens;
    if (test_.from_logits) {
      batch.logits = device_[3].as<float>();
    } else {
      batch.ids = device_[1].as<std::int32_t>();
      batch.weights = device_[2].as<float>();
      batch.scale_input = test_.scale_input;
    }
    batch.y = device_[4].as<void>();
    batch.y_bf16 = test_.y_bf16;
    return batch;
  }
  [[nodiscard]] void* workspace() const { return device_[5].as<void>(); }
  void poison_output() const { device_[4].fill(kPoison); }

  [[nodiscard]] std::vector<float> output() const {
    const std::size_t count = x_.size();
    if (!test_.y_bf16) return device_[4].read<float>(count);
    std::vector<float> y;
    for (const bf16 value : device_[4].read<bf16>(count)) y.push_back(to_float(value));
    return y;
  }

  [[nodiscard]] std::vector<double> reference() const { return reference(routed_); }

  /// The sum of the magnitudes of a token's slots, channel by channel.
  [[nodiscard]] std::vector<double> magnitudes() const {
    std::vector<double> sums(x_.size(), 0.0);
    for (int slot = 0; slot < test_.top_k; ++slot) {
      RoutedTokens alone = routed_;
      for (std::size_t i = 0; i < alone.ids.size(); ++i) {
        if (static_cast<int>(i) % test_.top_k != slot) alone.ids[i] = -1;
      }
      const std::vector<double> y = reference(alone);
      for (std::size_t i = 0; i < y.size(); ++i) sums[i] += std::abs(y[i]);
    }
    return sums;
  }

 private:
  [[nodiscard]] std::vector<double> reference(const RoutedTokens& routed) const {
    std::vector<double> y(x_.size());
    must(cpu::reference_layer(layer_, test_.activation, test_.kernels.precision, x_.data(), routed, y.data()));
    return y;
  }

  [[nodiscard]] std::int64_t y_bytes() const { return static_cast<std::int64_t>(x_.size()) * (test_.y_bf16 ? 2 : 4); }

  LayerCase test_;
  cpu::Weights weights_;
  ExpertWeights layer_;
  std::vector<bf16> x_;
  std::vector<float> logits_;
  RoutedTokens routed_;
  std::vector<DeviceMemory> device_;
};

LayerOutcome compare(const LayerCase& test, const std::vector<float>& y, const std::vector<double>& reference,
                     const std::vector<double>& magnitudes) {
  constexpr double kHalfStep = 0x1p-9;  // of bf16
  const double moved_rounding = test.kernels.precision == Precision::w4a4 ? 0x1p-5 : 0x1p-8;
  LayerOutcome outcome;
  const auto hidden = static_cast<std::size_t>(test.hidden);
  for (std::size_t t = 0; t < static_cast<std::size_t>(test.tokens); ++t) {
    const double largest = *std::max_element(magnitudes.begin() + static_cast<std::ptrdiff_t>(t * hidden),
                                             magnitudes.begin() + static_cast<std::ptrdiff_t>((t + 1) * hidden));
    for (std::size_t i = t * hidden; i < (t + 1) * hidden; ++i) {
      const double error = std::abs(static_cast<double>(y[i]) - reference[i]);
      const double rounding = kHalfStep * (magnitudes[i] + (test.y_bf16 ? std::abs(reference[i]) : 0.0));
      const double units = error == 0.0 ? 0.0 : error / (rounding + moved_rounding * largest);
      if (units <= outcome.worst) continue;  // false for NaN
      outcome.worst = std::isfinite(units) ? units : std::numeric_limits<double>::infinity();
      outcome.where = "token " + std::to_string(t) + " channel " + std::to_string(i % hidden);
    }
  }
  return outcome;
}

}  // namespace

std::vector<LayerCase> shape_cases() {
  const auto with = [](const std::string& name, auto&& change) {
    LayerCase test;
    test.name = name;
    change(test);
    return test;
  };
  const auto sizes = [](int hidden, int intermediate, int experts, int top_k, int tokens) {
    return [=](LayerCase& t) {
      t.hidden = hidden;
      t.intermediate = intermediate;
      t.experts = experts;
      t.top_k = top_k;
      t.tokens = tokens;
    };
  };
  std::vector<LayerCase> cases = {
      with("plain", [](LayerCase&) {}),
      with("no size fills a slab", sizes(352, 176, 5, 2, 33)),
      with("half a slab is left over", sizes(144, 80, 3, 3, 9)),
      with("one block of K", sizes(16, 16, 4, 2, 6)),
      with("one token of 64 experts", sizes(512, 256, 64, 8, 1)),
      with("256 experts", sizes(64, 32, 256, 8, 40)),
      with("600 experts", sizes(64, 48, 600, 4, 70)),
      with("many tokens", sizes(192, 96, 4, 2, 2500)),
      with("hundreds of rows an expert", sizes(128, 64, 8, 4, 700)),
      with("more slots than one block sorts", sizes(64, 32, 16, 6, 3000)),
  };
  const auto add = [&](const std::string& name, auto&& change) { cases.push_back(with(name, change)); };
  add("relu2", [](LayerCase& t) { t.activation = {ActivationKind::relu2, 0.0F}; });
  add("relu2, odd sizes", [](LayerCase& t) {
    t.activation = {ActivationKind::relu2, 0.0F};
    t.hidden = 160;
    t.intermediate = 208;
    t.tokens = 300;
  });
  add("swiglu_oai", [](LayerCase& t) {
    t.activation = {ActivationKind::swiglu_oai, 7.0F};
    t.intermediate = 144;
  });
  add("gelu", [](LayerCase& t) { t.activation = {ActivationKind::gelu_tanh_gated, 0.0F}; });
  add("clamped silu", [](LayerCase& t) { t.activation = {ActivationKind::silu_gated_clamped, 0.5F}; });
  add("one rank of four", [](LayerCase& t) {
    t.experts = 16;
    t.first_expert = 8;
    t.local_experts = 4;
    t.tokens = 64;
  });
  add("all tokens on one expert", [](LayerCase& t) {
    t.one_expert = true;
    t.tokens = 300;
    t.top_k = 1;
  });
  add("scaled inputs", [](LayerCase& t) {
    t.scale_input = true;
    t.top_k = 1;
  });
  add("scaled inputs of many tokens", [](LayerCase& t) {
    t.scale_input = true;
    t.top_k = 2;
    t.tokens = 1100;
  });
  add("from logits", [](LayerCase& t) { t.from_logits = true; });
  add("y in bf16", [](LayerCase& t) { t.y_bf16 = true; });
  return cases;
}

std::vector<LayerCase> sm120_cases() {
  std::vector<LayerCase> cases;
  for (LayerCase test : shape_cases()) {
    test.name += ", w4a16";
    test.kernels = {Precision::w4a16, Arch::sm_120};
    cases.push_back(std::move(test));
  }
  for (const bool static_scales : {true, false}) {
    for (LayerCase test : shape_cases()) {
      test.name += static_scales ? ", input scales" : ", rows' own scales";
      test.kernels = {Precision::w4a4, Arch::sm_120, true};
      test.static_scales = static_scales;
      cases.push_back(std::move(test));
    }
  }
  return cases;
}

CudaLayer make_layer(const LayerCase& test) { return Problem(test).make(); }

LayerOutcome run_layer_case(const LayerCase& test, const LayerSchedules* schedules) {
  Problem problem(test);
  const CudaLayer layer = problem.make();
  const CudaBatch batch = problem.batch(layer);
  must(schedules == nullptr ? layer.run(batch, problem.workspace(), nullptr)
                            : layer.run(batch, *schedules, problem.workspace(), nullptr));
  require(cudaDeviceSynchronize());
  return compare(test, problem.output(), problem.reference(), problem.magnitudes());
}

int distinct_outputs_of_graph(const LayerCase& test, int replays) {
  Problem problem(test);
  const CudaLayer layer = problem.make();
  const CudaBatch batch = problem.batch(layer);
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t instance = nullptr;
  require(cudaStreamCreate(&stream));
  require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  must(layer.run(batch, problem.workspace(), stream));
  require(cudaStreamEndCapture(stream, &graph));
  require(cudaGraphInstantiate(&instance, graph, 0));
  std::set<std::vector<std::uint32_t>> outputs;
  for (int i = 0; i < replays; ++i) {
    problem.poison_output();
    require(cudaGraphLaunch(instance, stream));
    require(cudaStreamSynchronize(stream));
    std::vector<std::uint32_t> bits;
    for (const float value : problem.output()) bits.push_back(std::bit_cast<std::uint32_t>(value));
    outputs.insert(std::move(bits));
  }
  require(cudaGraphExecDestroy(instance));
  require(cudaGraphDestroy(graph));
  require(cudaStreamDestroy(stream));
  return static_cast<int>(outputs.size());
}

std::vector<RoutingCase> routing_cases() {
  std::vector<RoutingCase> cases;
  for (const int experts : {7, 128, 384, 1000}) {
    for (const Scoring scoring : {Scoring::softmax, Scoring::softmax_topk, Scoring::sigmoid, Scoring::sqrtsoftplus,
                                  Scoring::sigmoid_on_input}) {
      for (const bool renormalize : {true, false}) {
        Routing routing;
        routing.scoring = scoring;
        routing.top_k = std::min(experts, 8);
        routing.renormalize = renormalize && scoring != Scoring::sigmoid_on_input;
        routing.scaling_factor = 2.5F;
        const bool alone = scoring == Scoring::sigmoid || scoring == Scoring::sqrtsoftplus;
        routing.selection_bias = alone && renormalize;
        if (alone && experts % 8 == 0) {
          routing.groups = 8;
          routing.top_groups = 4;
        }
        cases.push_back(
            {std::to_string(experts) + " experts, " + to_string(scoring) + (renormalize ? ", renormalized" : ""),
             routing, experts});
      }
    }
  }
  return cases;
}

RoutingOutcome run_routing_case(const RoutingCase& test) {
  constexpr int kTokens = 300;
  std::vector<float> logits = random_logits(kTokens, test.experts, 11);
  // Ties: a third of the tokens have logits of few values.
  for (std::size_t i = 0; i < logits.size() / 3; ++i) logits[i] = std::round(logits[i]);
  const std::vector<float> bias =
      test.routing.selection_bias ? random_logits(1, test.experts, 12) : std::vector<float>();
  const RoutedTokens expected = value_of(route(test.routing, logits.data(), kTokens, test.experts, bias));
  const DeviceMemory device_logits(logits);
  const DeviceMemory device_bias(bias);
  const DeviceMemory ids(static_cast<std::int64_t>(expected.ids.size() * 4));
  const DeviceMemory weights(static_cast<std::int64_t>(expected.ids.size() * 4));
  ids.fill(kPoison);
  weights.fill(kPoison);
  RouteParams params;
  params.logits = device_logits.as<float>();
  params.bias = bias.empty() ? nullptr : device_bias.as<float>();
  params.tokens = kTokens;
  params.experts = test.experts;
  params.routing = test.routing;
  params.ids = ids.as<std::int32_t>();
  params.weights = weights.as<float>();
  require(enqueue_route(params, false, nullptr));
  require(cudaDeviceSynchronize());
  const auto got_ids = ids.read<std::int32_t>(expected.ids.size());
  const auto got_weights = weights.read<float>(expected.ids.size());
  RoutingOutcome outcome;
  for (std::size_t i = 0; i < got_ids.size(); ++i) {
    outcome.other_ids += got_ids[i] != expected.ids[i] ? 1 : 0;
    outcome.other_weights +=
        std::bit_cast<std::uint32_t>(got_weights[i]) != std::bit_cast<std::uint32_t>(expected.weights[i]) ? 1 : 0;
  }
  return outcome;
}

}  // namespace tilewright::cuda
