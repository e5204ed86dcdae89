#include "checkpoint/model_routing.hpp"

#include <array>
#include <string>

#include <fmt/format.h>

#include "checkpoint/config_json.hpp"
#include "numerics/routing_rules.hpp"

namespace tilewright {
namespace {

using Json = nlohmann::json;

constexpr std::array kScorings = {Scoring::softmax, Scoring::softmax_topk, Scoring::sigmoid, Scoring::sqrtsoftplus,
                                  Scoring::sigmoid_on_input};

Result<Scoring> read_scoring(const Json& config, const ModelFamily* family) {
  const std::string name = find_string(config, {"scoring_func", "moe_router_activation_func"});
  if (name.empty()) {
    if (family != nullptr) return family->scoring;
    return fail(
        ErrorCode::unsupported,
        fmt::format("model_type \"{}\" is not known and config.json has no scoring_func, so the routing is not known",
                    find_string(config, {"model_type"})),
        "add scoring_func and norm_topk_prob to config.json");
  }
  for (const Scoring scoring : kScorings) {
    if (name == to_string(scoring)) return scoring;
  }
  return fail(ErrorCode::unsupported, fmt::format("scoring_func \"{}\" is not supported", name),
              "supported are softmax, sigmoid and sqrtsoftplus");
}

Status read_groups(const Json& config, int experts, Routing& routing) {
  TILEWRIGHT_ASSIGN(const auto groups, find_int(config, {"n_group", "num_expert_group"}));
  TILEWRIGHT_ASSIGN(const auto top_groups, find_int(config, {"topk_group"}));
  if (groups.value_or(1) <= 1) return {};
  routing.groups = *groups;
  routing.top_groups = top_groups.value_or(1);
  if (experts % routing.groups != 0 || routing.top_groups < 1 || routing.top_groups > routing.groups) {
    return fail(ErrorCode::mismatch,
                fmt::format("{} experts in n_group {} with topk_group {} do not add up", experts, routing.groups,
                            routing.top_groups),
                "correct config.json");
  }
  // DeepSeek-V2 ranks groups by their best expert, not by the sum of the best two.
  const std::string method = find_string(config, {"topk_method"});
  if (method == "group_limited_greedy") {
    return fail(ErrorCode::unsupported, "topk_method group_limited_greedy is not supported",
                "route in the caller and give expert ids and weights");
  }
  return {};
}

Result<bool> read_selection_bias(const Json& config, const ModelFamily* family) {
  const std::string method = find_string(config, {"topk_method"});
  if (!method.empty()) return method == "noaux_tc";
  TILEWRIGHT_ASSIGN(const auto stated, find_bool(config, {"use_routing_bias", "use_moe_router_bias"}));
  return stated.value_or(family != nullptr && family->selection_bias);
}

}  // namespace

Result<Routing> read_routing(const Json& config, const ModelFamily* family, int experts) {
  Routing routing;
  // A bare top_k is no spelling of this: multimodal wrappers carry generation's top_k 50 in the same object.
  TILEWRIGHT_ASSIGN(const auto top_k, find_int(config,
                                               {"num_experts_per_tok", "num_experts_per_token", "experts_per_token",
                                                "top_k_experts", "moe_top_k", "moe_topk"},
                                               1));
  if (!top_k) return fail(ErrorCode::unsupported, "config.json has no num_experts_per_tok", "add it to config.json");
  if (*top_k > experts) {
    return fail(ErrorCode::mismatch, fmt::format("num_experts_per_tok {} is more than the {} experts", *top_k, experts),
                "correct config.json");
  }
  routing.top_k = *top_k;
  TILEWRIGHT_ASSIGN(routing.scoring, read_scoring(config, family));
  TILEWRIGHT_ASSIGN(const auto renormalize, find_bool(config, {"norm_topk_prob", "moe_renormalize"}));
  routing.renormalize = renormalize.value_or(family != nullptr && family->renormalize);
  TILEWRIGHT_ASSIGN(const auto factor, find_float(config, {"routed_scaling_factor", "moe_router_scaling_factor"}));
  routing.scaling_factor = factor.value_or(1.0F);
  TILEWRIGHT_TRY(read_groups(config, experts, routing));
  TILEWRIGHT_ASSIGN(routing.selection_bias, read_selection_bias(config, family));
  if (routing.selection_bias && !scores_alone(routing.scoring)) {
    return fail(ErrorCode::unsupported,
                fmt::format("scoring_func {} with a selection bias is not supported", to_string(routing.scoring)),
                "route in the caller and give expert ids and weights");
  }
  return routing;
}

}  // namespace tilewright
