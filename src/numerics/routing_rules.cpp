#include "numerics/routing_rules.hpp"

#include <fmt/format.h>

#include <cmath>

namespace tilewright {
namespace {

constexpr Scoring kScorings[] = {Scoring::softmax, Scoring::softmax_topk, Scoring::sigmoid, Scoring::sqrtsoftplus,
                                 Scoring::sigmoid_on_input};

Status check_groups(const Routing& routing, int experts) {
  if (routing.groups < 1 || experts % routing.groups != 0) {
    return fail(ErrorCode::invalid_argument, fmt::format("{} experts in {} groups", experts, routing.groups),
                "take a number of groups (n_group) that divides the experts");
  }
  if (routing.top_groups < 1 || routing.top_groups > routing.groups) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} groups kept (topk_group) of {}", routing.top_groups, routing.groups),
                fmt::format("keep 1 to {} groups", routing.groups));
  }
  if (routing.groups > 1 && !scores_alone(routing.scoring)) {
    return fail(ErrorCode::unsupported,
                fmt::format("{} groups with {} scoring", routing.groups, to_string(routing.scoring)),
                "groups go with sigmoid and sqrtsoftplus scoring");
  }
  const int candidates = experts / routing.groups * routing.top_groups;
  if (routing.top_k > candidates) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("top-k {} of the {} experts in {} kept groups of {}", routing.top_k, candidates,
                            routing.top_groups, experts / routing.groups),
                "keep more groups (topk_group) or lower top-k");
  }
  return {};
}

}  // namespace

const char* to_string(Scoring scoring) {
  switch (scoring) {
    case Scoring::softmax: return "softmax";
    case Scoring::softmax_topk: return "softmax_topk";
    case Scoring::sigmoid: return "sigmoid";
    case Scoring::sqrtsoftplus: return "sqrtsoftplus";
    case Scoring::sigmoid_on_input: return "sigmoid_on_input";
  }
  return "unknown";
}

Result<Scoring> parse_scoring(const std::string& name) {
  std::string known;
  for (const Scoring scoring : kScorings) {
    if (name == to_string(scoring)) return scoring;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", to_string(scoring));
  }
  return fail(ErrorCode::invalid_argument, fmt::format("unknown scoring '{}'", name), "use one of " + known);
}

Status check_routing(const Routing& routing, int experts) {
  if (routing.top_k < 1 || routing.top_k > experts) {
    return fail(ErrorCode::invalid_argument, fmt::format("top-k {} of {} experts", routing.top_k, experts),
                fmt::format("take a top-k of 1 to {}", experts));
  }
  if (!std::isfinite(routing.scaling_factor)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("routed scaling factor {} is not finite", routing.scaling_factor),
                "take routed_scaling_factor from the model's config.json");
  }
  if (routing.scoring == Scoring::sigmoid_on_input && routing.renormalize) {
    return fail(ErrorCode::invalid_argument,
                "sigmoid_on_input scoring with renormalisation, which would undo the sigmoid",
                "set renormalize to false");
  }
  TILEWRIGHT_TRY(check_groups(routing, experts));
  if (routing.selection_bias && !scores_alone(routing.scoring)) {
    return fail(ErrorCode::unsupported, fmt::format("a selection bias with {} scoring", to_string(routing.scoring)),
                "a selection bias goes with sigmoid and sqrtsoftplus scoring; add a router's own bias to its logits");
  }
  return {};
}

Status check_slots(const RoutedTokens& routed, int experts) {
  const auto slots = static_cast<std::size_t>(routed.tokens) * static_cast<std::size_t>(routed.top_k);
  if (routed.ids.size() != slots || routed.weights.size() != slots) {
    return fail(ErrorCode::mismatch,
                fmt::format("{} ids and {} weights for {} tokens x top-{}", routed.ids.size(), routed.weights.size(),
                            routed.tokens, routed.top_k),
                "give one id and one weight a slot, with id -1 for slots to ignore");
  }
  for (std::size_t i = 0; i < slots; ++i) {
    if (routed.ids[i] < -1 || routed.ids[i] >= experts) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("token {} slot {} has expert id {}, outside -1 to {}", i / routed.top_k, i % routed.top_k,
                              routed.ids[i], experts - 1),
                  "use global expert ids");
    }
    if (routed.ids[i] >= 0 && !std::isfinite(routed.weights[i])) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("token {} slot {} has weight {}", i / routed.top_k, i % routed.top_k, routed.weights[i]),
                  "check the router: weights must be finite");
    }
  }
  return {};
}

}  // namespace tilewright
