#include "tools/tilewright/loaded_layer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tools/tilewright/layer_inputs.hpp"
#include "tools/tilewright/problem_options.hpp"
#include "tools/tilewright/tensor_io.hpp"

namespace tilewright::cli {
namespace {

// Enough (token, expert) pairs to walk through every expert of the largest layers.
constexpr int kPairsOfAllInputs = 4096;
constexpr int kMostInputs = 32;

Result<RoutedTokens> route_tokens(const LoadedLayer& layer, const std::vector<bf16>& x, int tokens,
                                  std::uint64_t seed) {
  const int experts = layer.weights.global_experts;
  std::vector<float> bias(layer.facts.routing.selection_bias ? static_cast<std::size_t>(experts) : 0, 0.0F);
  if (!layer.router)
    return route(layer.facts.routing, random_logits(tokens, experts, seed).data(), tokens, experts, bias);
  if (!bias.empty() && !layer.router->selection_bias.empty()) bias = layer.router->selection_bias;
  return route(layer.facts.routing, router_logits(*layer.router, x, tokens).data(), tokens, experts, bias);
}

}  // namespace

Result<LoadedLayer> load_layer(const LayerSource& source) {
  TILEWRIGHT_ASSIGN(const Checkpoint checkpoint, Checkpoint::open(source.checkpoint));
  if (checkpoint.layers().empty()) {
    return fail(ErrorCode::not_found, fmt::format("'{}' has no NVFP4 experts", source.checkpoint),
                "see 'tilewright inspect'");
  }
  LoadedLayer layer;
  if (source.model.empty()) {
    if (!checkpoint.model()) {
      return fail(checkpoint.model().error().code, checkpoint.model().error().cause,
                  "say with --model what the layer's activation and routing are");
    }
    layer.facts = *checkpoint.model();
  } else {
    TILEWRIGHT_ASSIGN(layer.facts, model_named(source.model));
  }
  layer.number = source.layer >= 0 ? source.layer : checkpoint.layers().front();
  TILEWRIGHT_ASSIGN(layer.weights, checkpoint.load_layer(layer.number, source.slice, &layer.findings));
  auto router = checkpoint.load_router(layer.number);
  if (router && router->hidden == layer.weights.hidden) {
    layer.router = std::move(*router);
  } else if (!router && router.error().code != ErrorCode::not_found) {
    return tl::unexpected<Error>(router.error());
  }
  return layer;
}

Result<std::vector<LayerInput>> random_inputs(const LoadedLayer& layer, int tokens, std::uint64_t seed) {
  const int slots = std::max(1, tokens * layer.facts.routing.top_k);
  const int count = std::clamp(kPairsOfAllInputs / slots, 1, kMostInputs);
  std::vector<LayerInput> inputs;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t input_seed = seed * 1000003U + static_cast<std::uint64_t>(i);
    LayerInput input{random_activations(tokens, layer.weights.hidden, input_seed), {}};
    TILEWRIGHT_ASSIGN(input.routed, route_tokens(layer, input.x, tokens, input_seed + 500000U));
    inputs.push_back(std::move(input));
  }
  return inputs;
}

Result<std::vector<LayerInput>> file_input(const LoadedLayer& layer, const std::string& path, std::uint64_t seed) {
  TILEWRIGHT_ASSIGN(InputFile file, read_input(path, layer.weights.hidden, layer.weights.global_experts));
  LayerInput input{std::move(file.x), std::move(file.routed)};
  if (!file.logits.empty()) {
    const std::vector<float> bias(
        layer.facts.routing.selection_bias ? static_cast<std::size_t>(layer.weights.global_experts) : 0, 0.0F);
    TILEWRIGHT_ASSIGN(input.routed,
                      route(layer.facts.routing, file.logits.data(), file.tokens, layer.weights.global_experts, bias));
  } else if (input.routed.ids.empty()) {
    TILEWRIGHT_ASSIGN(input.routed, route_tokens(layer, input.x, file.tokens, seed));
  }
  std::vector<LayerInput> inputs;
  inputs.push_back(std::move(input));
  return inputs;
}

}  // namespace tilewright::cli
