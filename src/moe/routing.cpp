#include "tilewright/routing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "numerics/routing_math.hpp"
#include "numerics/routing_rules.hpp"

namespace tilewright {

namespace {

/// Takes the largest of a row of values again and again, equal ones in ascending order of index. A value and its index
/// make one integer key that orders as they do; with the maximum of each block of keys at hand, a take looks at one key
/// a block and one block, and no branch depends on the values.
class Largest {
 public:
  explicit Largest(int size)
      : keys_(static_cast<std::size_t>((size + kBlock - 1) / kBlock * kBlock), kTaken),
        block_max_(keys_.size() / kBlock) {}

  /// Puts the row in; the same size every time.
  void load(const float* values, int size) {
    for (int i = 0; i < size; ++i) keys_[i] = order_key(values[i], static_cast<std::uint32_t>(i));
    for (std::size_t b = 0; b < block_max_.size(); ++b) refresh(b);
  }

  int take() {
    const std::uint64_t largest = *std::max_element(block_max_.begin(), block_max_.end());
    const auto index = static_cast<std::uint32_t>(~largest);
    keys_[index] = kTaken;
    refresh(index / kBlock);
    return static_cast<int>(index);
  }

 private:
  static constexpr std::size_t kBlock = 16;
  static constexpr std::uint64_t kTaken = 0;  ///< below the key of every finite value

  void refresh(std::size_t block) {
    const std::uint64_t* keys = keys_.data() + block * kBlock;
    std::uint64_t largest = kTaken;
    for (std::size_t i = 0; i < kBlock; ++i) largest = std::max(largest, keys[i]);
    block_max_[block] = largest;
  }

  std::vector<std::uint64_t> keys_;
  std::vector<std::uint64_t> block_max_;
};

/// Index of the first value that is not finite; `size` when all are.
int first_non_finite(const float* values, int size) {
  constexpr std::uint32_t kExponent = 0x7F800000U;
  constexpr std::uint32_t kOne = 0x00800000U;  // carries an exponent of all ones into bit 31
  std::uint32_t carries = 0;
  for (int i = 0; i < size; ++i) carries |= (std::bit_cast<std::uint32_t>(values[i]) & kExponent) + kOne;
  if (carries >> 31U == 0U) return size;
  return static_cast<int>(std::find_if(values, values + size, [](float v) { return !std::isfinite(v); }) - values);
}

/// Routes one row after another with buffers of its own.
class Router {
 public:
  Router(const Routing& routing, int experts, const std::vector<float>& bias)
      : routing_(routing),
        experts_(experts),
        bias_(bias),
        best_experts_(experts),
        best_groups_(routing.groups),
        scores_(static_cast<std::size_t>(experts)),
        biased_(static_cast<std::size_t>(experts)),
        group_scores_(static_cast<std::size_t>(routing.groups)),
        is_kept_(static_cast<std::size_t>(routing.groups)) {}

  void route(const float* logits, std::int32_t* ids, float* weights) {
    const bool alone = scores_alone(routing_.scoring);
    if (alone) score(logits);
    if (routing_.groups > 1) mask_groups();
    best_experts_.load(alone ? biased_.data() : logits, experts_);
    for (int s = 0; s < routing_.top_k; ++s) ids[s] = best_experts_.take();
    weigh(logits, ids, weights);
  }

 private:
  void score(const float* logits) {
    if (routing_.scoring == Scoring::sigmoid) {
      for (int e = 0; e < experts_; ++e) scores_[e] = sigmoid(logits[e]);
    } else {
      for (int e = 0; e < experts_; ++e) scores_[e] = softplus(logits[e]);
      for (int e = 0; e < experts_; ++e) scores_[e] = std::sqrt(scores_[e]);
    }
    for (int e = 0; e < experts_; ++e) biased_[e] = bias_.empty() ? scores_[e] : scores_[e] + bias_[e];
  }

  /// Puts the experts of the groups that are not kept below all others.
  void mask_groups() {
    const int size = experts_ / routing_.groups;
    for (int g = 0; g < routing_.groups; ++g) group_scores_[g] = group_score(biased_.data() + g * size, size);
    best_groups_.load(group_scores_.data(), routing_.groups);
    std::fill(is_kept_.begin(), is_kept_.end(), false);
    for (int kept = 0; kept < routing_.top_groups; ++kept) is_kept_[best_groups_.take()] = true;
    for (int g = 0; g < routing_.groups; ++g) {
      if (!is_kept_[g]) std::fill_n(biased_.begin() + g * size, size, -std::numeric_limits<float>::infinity());
    }
  }

  /// The sum of the two largest values; of a group of one, its value.
  static float group_score(const float* values, int size) {
    float first = values[0];
    float second = -std::numeric_limits<float>::infinity();
    for (int i = 1; i < size; ++i) {
      second = std::max(second, std::min(first, values[i]));
      first = std::max(first, values[i]);
    }
    return size == 1 ? first : first + second;
  }

  void weigh(const float* logits, const std::int32_t* ids, float* weights) {
    const int top_k = routing_.top_k;
    float divisor = 1.0F;
    if (scores_alone(routing_.scoring)) {
      for (int s = 0; s < top_k; ++s) weights[s] = scores_[ids[s]];
      if (routing_.renormalize) divisor = sum(weights) + kRenormalizeEpsilon;
    } else if (routing_.scoring == Scoring::sigmoid_on_input) {
      for (int s = 0; s < top_k; ++s) weights[s] = sigmoid(logits[ids[s]]);
    } else {
      const float largest = logits[ids[0]];
      for (int s = 0; s < top_k; ++s) weights[s] = exp_nonpositive(logits[ids[s]] - largest);
      divisor = sum(weights);
      if (routing_.scoring == Scoring::softmax && !routing_.renormalize) divisor = sum_of_exp(logits, largest);
    }
    for (int s = 0; s < top_k; ++s) weights[s] = weights[s] / divisor * routing_.scaling_factor;
  }

  [[nodiscard]] float sum(const float* weights) const {
    float total = 0.0F;
    for (int s = 0; s < routing_.top_k; ++s) total += weights[s];
    return total;
  }

  [[nodiscard]] float sum_of_exp(const float* logits, float largest) {
    for (int e = 0; e < experts_; ++e) scores_[e] = exp_nonpositive(logits[e] - largest);
    float total = 0.0F;
    for (int e = 0; e < experts_; ++e) total += scores_[e];
    return total;
  }

  const Routing& routing_;
  const int experts_;
  const std::vector<float>& bias_;
  Largest best_experts_;
  Largest best_groups_;
  std::vector<float> scores_;
  std::vector<float> biased_;
  std::vector<float> group_scores_;
  std::vector<bool> is_kept_;
};

Status check_sizes(const float* logits, int tokens, int experts) {
  if (tokens < 0 || experts < 1) {
    return fail(ErrorCode::invalid_argument, fmt::format("routing of {} tokens to {} experts", tokens, experts),
                "give 0 tokens or more and 1 expert or more");
  }
  if (logits == nullptr && tokens > 0) {
    return fail(ErrorCode::invalid_argument, fmt::format("no logits for {} tokens", tokens),
                "give a row of logits a token");
  }
  return {};
}

Status check_bias(const Routing& routing, int experts, const std::vector<float>& bias) {
  const std::size_t needed = routing.selection_bias ? static_cast<std::size_t>(experts) : 0;
  if (bias.size() != needed) {
    return fail(ErrorCode::mismatch,
                fmt::format("a selection bias of {} values for {} experts, where the routing {} one", bias.size(),
                            experts, routing.selection_bias ? "has" : "does not have"),
                fmt::format("give {} values (e_score_correction_bias)", needed));
  }
  const int bad = first_non_finite(bias.data(), static_cast<int>(bias.size()));
  if (bad == static_cast<int>(bias.size())) return {};
  return fail(ErrorCode::invalid_argument, fmt::format("the selection bias of expert {} is {}", bad, bias[bad]),
              "give finite values (e_score_correction_bias)");
}

}  // namespace

Result<RoutedTokens> route(const Routing& routing, const float* logits, int tokens, int experts,
                           const std::vector<float>& bias) {
  TILEWRIGHT_TRY(check_sizes(logits, tokens, experts));
  TILEWRIGHT_TRY(check_routing(routing, experts));
  TILEWRIGHT_TRY(check_bias(routing, experts, bias));

  RoutedTokens routed;
  routed.tokens = tokens;
  routed.top_k = routing.top_k;
  routed.scale_input = routing.scoring == Scoring::sigmoid_on_input;
  const std::size_t slots = static_cast<std::size_t>(tokens) * static_cast<std::size_t>(routing.top_k);
  routed.ids.resize(slots);
  routed.weights.resize(slots);

  Router router(routing, experts, bias);
  for (int t = 0; t < tokens; ++t) {
    const float* row = logits + static_cast<std::int64_t>(t) * experts;
    const int bad = first_non_finite(row, experts);
    if (bad < experts) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("the logit of token {} for expert {} is {}", t, bad, row[bad]),
                  "route finite logits; a value that is not comes from an earlier layer");
    }
    const std::size_t first = static_cast<std::size_t>(t) * static_cast<std::size_t>(routing.top_k);
    router.route(row, routed.ids.data() + first, routed.weights.data() + first);
  }
  return routed;
}

}  // namespace tilewright
