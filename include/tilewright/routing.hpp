// Routing: from router logits to (expert ids, weights) for each token.
//
// Rules as the models' published code has them (DeepSeek-V3's noaux_tc gate, Qwen3, Mixtral, gpt-oss, Llama-4):
//
//   softmax           picks the largest logits;            w = exp(l) / sum of exp(l) over all experts
//   softmax_topk      picks the largest logits;            w = exp(l) / sum of exp(l) over the picks
//   sigmoid           picks the largest s + bias;          w = s, s = 1 / (1 + exp(-l))
//   sqrtsoftplus      picks the largest s + bias;          w = s, s = sqrt(log(1 + exp(l)))
//   sigmoid_on_input  picks the largest logits;            w = 1 / (1 + exp(-l)), for the expert's input
//
// then, with `renormalize`, w /= sum of w over the picks, and last w *= scaling_factor. All in fp32.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilewright/result.hpp"

namespace tilewright {

enum class Scoring {
  softmax,       ///< softmax over all experts, then top-k (Qwen3, Mixtral, Gemma-4)
  softmax_topk,  ///< top-k of the logits, softmax over those k (gpt-oss)
  sigmoid,  ///< sigmoid, a bias that selects but never weighs, groups (DeepSeek-V3, GLM, Kimi, MiniMax, Nemotron-3)
  sqrtsoftplus,      ///< sqrt(softplus(logit)), otherwise as sigmoid (DeepSeek-V4)
  sigmoid_on_input,  ///< sigmoid of the chosen logit scales the expert's *input*; the output weight is 1 (Llama-4)
};

struct Routing {
  Scoring scoring = Scoring::softmax;
  int top_k = 1;
  bool renormalize = true;      ///< divide the k weights by their sum (+1e-20 for sigmoid and sqrtsoftplus)
  float scaling_factor = 1.0F;  ///< routed_scaling_factor: multiplies the weights after renormalisation, once
  int groups = 1;               ///< n_group: equal runs of experts; more than 1 for sigmoid and sqrtsoftplus only
  int top_groups = 1;           ///< topk_group: groups kept by the sum of their two largest biased scores
  bool selection_bias = false;  ///< the model has an e_score_correction_bias (sigmoid and sqrtsoftplus only)
};

/// Name as it stands in JSON, e.g. "softmax_topk".
const char* to_string(Scoring scoring);
/// The inverse of to_string; an unknown name is an `invalid_argument` that lists the known ones.
Result<Scoring> parse_scoring(const std::string& name);

/// The experts of each token: row-major [tokens, top_k]. An id of -1 is a slot to ignore.
struct RoutedTokens {
  int tokens = 0;
  int top_k = 0;
  std::vector<std::int32_t> ids;
  std::vector<float> weights;
  bool scale_input = false;  ///< the weight multiplies the expert's input and the output weight is 1 (sigmoid_on_input)
};

/// Routes `tokens` rows of `experts` fp32 logits (row-major). `bias` is empty or has one value an expert; it takes part
/// in the selection only, and is given exactly when the routing has one. A token's slots descend by the value that
/// picked them; ties, of experts and of groups, go to the lowest id. A non-finite logit is an error that names token
/// and expert; so is every setting that contradicts another (`invalid_argument`, or `mismatch` for a bias of the wrong
/// length).
Result<RoutedTokens> route(const Routing& routing, const float* logits, int tokens, int experts,
                           const std::vector<float>& bias = {});

}  // namespace tilewright
