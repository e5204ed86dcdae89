#include "tilewright/routing.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <string>

namespace tilewright {
namespace {

constexpr Scoring kAll[] = {Scoring::softmax, Scoring::softmax_topk, Scoring::sigmoid, Scoring::sqrtsoftplus,
                            Scoring::sigmoid_on_input};

bool scores_alone(Scoring scoring) { return scoring == Scoring::sigmoid || scoring == Scoring::sqrtsoftplus; }

/// A routing whose settings agree: what each scoring allows of renormalisation and bias.
Routing routing_of(Scoring scoring, int top_k, int groups = 1, int top_groups = 1) {
  Routing routing;
  routing.scoring = scoring;
  routing.top_k = top_k;
  routing.renormalize = scoring != Scoring::sigmoid_on_input;
  routing.groups = groups;
  routing.top_groups = top_groups;
  routing.selection_bias = scores_alone(scoring);
  return routing;
}

/// Logits on a grid, each value once a token in random order: no two scores of a token are close enough for fp32 and
/// double to disagree about which is larger.
std::vector<float> grid_logits(int tokens, int experts, std::mt19937& random) {
  std::vector<float> logits;
  for (int t = 0; t < tokens; ++t) {
    std::vector<float> row(static_cast<std::size_t>(experts));
    for (int e = 0; e < experts; ++e) row[e] = static_cast<float>(e - experts / 2) * 8.0F / static_cast<float>(experts);
    std::shuffle(row.begin(), row.end(), random);
    logits.insert(logits.end(), row.begin(), row.end());
  }
  return logits;
}

std::vector<float> random_bias(int experts, std::mt19937& random) {
  std::vector<float> bias(static_cast<std::size_t>(experts));
  for (float& b : bias) b = static_cast<float>(random() % 4096) / 4096.0F - 0.5F;
  return bias;
}

struct Expected {
  std::vector<int> ids;
  std::vector<double> weights;
};

/// The rules again, in double and by sorting everything, for one token.
Expected expected_route(const Routing& routing, const float* logits, int experts, const std::vector<float>& bias) {
  std::vector<double> score(logits, logits + experts);
  if (scores_alone(routing.scoring)) {
    for (double& s : score) {
      s = routing.scoring == Scoring::sigmoid ? 1.0 / (1.0 + std::exp(-s)) : std::sqrt(std::log1p(std::exp(s)));
    }
  }
  std::vector<double> choice = score;
  for (std::size_t e = 0; e < bias.size(); ++e) choice[e] += bias[e];
  const int size = experts / routing.groups;
  std::vector<std::pair<double, int>> group_order;
  for (int g = 0; g < routing.groups; ++g) {
    std::vector<double> members(choice.begin() + g * size, choice.begin() + (g + 1) * size);
    std::sort(members.rbegin(), members.rend());
    group_order.emplace_back(-(members[0] + (size > 1 ? members[1] : 0.0)), g);
  }
  std::sort(group_order.begin(), group_order.end());
  std::vector<std::pair<double, int>> order;
  for (int kept = 0; kept < routing.top_groups; ++kept) {
    for (int i = 0; i < size; ++i) {
      const int e = group_order[kept].second * size + i;
      order.emplace_back(-choice[e], e);
    }
  }
  std::sort(order.begin(), order.end());

  Expected expected;
  double all = 0.0;
  for (int e = 0; e < experts; ++e) all += std::exp(static_cast<double>(logits[e]));
  for (int s = 0; s < routing.top_k; ++s) {
    const int e = order[s].second;
    const double l = logits[e];
    double weight = score[e];
    if (routing.scoring == Scoring::softmax || routing.scoring == Scoring::softmax_topk) weight = std::exp(l) / all;
    if (routing.scoring == Scoring::sigmoid_on_input) weight = 1.0 / (1.0 + std::exp(-l));
    expected.ids.push_back(e);
    expected.weights.push_back(weight);
  }
  const double sum = std::accumulate(expected.weights.begin(), expected.weights.end(), 0.0);
  for (double& weight : expected.weights) {
    if (routing.renormalize || routing.scoring == Scoring::softmax_topk) weight /= sum;
    weight *= routing.scaling_factor;
  }
  return expected;
}

/// Compares every token. A weight is a score (4 ulp, routing_math_test), a sum of n positive terms (n half ulps), a
/// division and a product; 1 ulp is 2^-23 relative at most.
void expect_follows_the_rules(const Routing& routing, int tokens, int experts, std::uint32_t seed) {
  std::mt19937 random(seed);
  const std::vector<float> logits = grid_logits(tokens, experts, random);
  const std::vector<float> bias = routing.selection_bias ? random_bias(experts, random) : std::vector<float>{};
  const auto routed = route(routing, logits.data(), tokens, experts, bias);
  ASSERT_TRUE(routed) << routed.error().message();
  ASSERT_EQ(routed->ids.size(), static_cast<std::size_t>(tokens) * routing.top_k);
  const double tolerance = (2 * 4 + 0.5 * experts + 2) * 0x1p-23;
  for (int t = 0; t < tokens; ++t) {
    const Expected expected = expected_route(routing, logits.data() + t * experts, experts, bias);
    for (int s = 0; s < routing.top_k; ++s) {
      ASSERT_EQ(routed->ids[t * routing.top_k + s], expected.ids[s]) << "token " << t << " slot " << s;
      ASSERT_NEAR(routed->weights[t * routing.top_k + s], expected.weights[s], tolerance * expected.weights[s])
          << "token " << t << " slot " << s;
    }
  }
}

TEST(Routing, FollowsTheRulesForEveryScoringAndTopK) {
  for (const Scoring scoring : kAll) {
    for (int top_k = 1; top_k <= 22; ++top_k) {
      SCOPED_TRACE(std::string(to_string(scoring)) + " top-" + std::to_string(top_k));
      expect_follows_the_rules(routing_of(scoring, top_k), 5, 128, static_cast<std::uint32_t>(top_k));
    }
  }
}

TEST(Routing, FollowsTheRulesForEveryNumberOfExperts) {
  for (const Scoring scoring : kAll) {
    for (const int experts : {1, 3, 15, 16, 17, 36, 60, 384, 512, 896, 1024}) {
      SCOPED_TRACE(std::string(to_string(scoring)) + " of " + std::to_string(experts));
      expect_follows_the_rules(routing_of(scoring, std::min(experts, 10)), 3, experts, 7);
      expect_follows_the_rules(routing_of(scoring, std::min(experts, 64)), 1, experts, 8);
    }
  }
}

TEST(Routing, FollowsTheRulesWithoutRenormalisation) {
  for (const Scoring scoring : kAll) {
    Routing routing = routing_of(scoring, 6);
    routing.renormalize = false;
    expect_follows_the_rules(routing, 20, 60, 11);
  }
}

TEST(Routing, KeepsTheGroupsOfDeepSeekV3) {
  Routing routing = routing_of(Scoring::sigmoid, 8, 8, 4);
  routing.scaling_factor = 2.5F;
  expect_follows_the_rules(routing, 200, 256, 3);
}

TEST(Routing, KeepsGroupsOfEverySize) {
  for (const int groups : {1, 2, 3, 4, 6, 12, 36}) {
    for (int top_groups = 1; top_groups <= groups; ++top_groups) {
      const int candidates = 36 / groups * top_groups;
      expect_follows_the_rules(routing_of(Scoring::sqrtsoftplus, std::min(candidates, 5), groups, top_groups), 10, 36,
                               5);
    }
  }
}

// sglang#29931: a factor applied twice garbles GLM-5.2 (2.5) and Nemotron-3-Ultra (5.0).
TEST(Routing, AppliesTheScalingFactorOnce) {
  for (const auto& [top_k, factor] : {std::pair{8, 2.5F}, {22, 5.0F}}) {
    Routing routing = routing_of(Scoring::sigmoid, top_k);
    routing.scaling_factor = factor;
    std::mt19937 random(1);
    const std::vector<float> logits = grid_logits(1, 512, random);
    const auto routed = route(routing, logits.data(), 1, 512, std::vector<float>(512, 0.0F));
    ASSERT_TRUE(routed);
    const double sum = std::accumulate(routed->weights.begin(), routed->weights.end(), 0.0);
    EXPECT_NEAR(sum, factor, (top_k + 2) * 0x1p-23 * factor);
  }
}

TEST(Routing, TheBiasSelectsAndNeverWeighs) {
  Routing routing = routing_of(Scoring::sigmoid, 2);
  routing.renormalize = false;
  const std::vector<float> logits = {0.0F, 1.0F, 2.0F, 3.0F};
  const auto routed = route(routing, logits.data(), 1, 4, {5.0F, 0.0F, -5.0F, 0.0F});
  ASSERT_TRUE(routed);
  EXPECT_EQ(routed->ids, (std::vector<std::int32_t>{0, 3}));
  EXPECT_EQ(routed->weights[0], 0.5F);
  EXPECT_NEAR(routed->weights[1], 1.0 / (1.0 + std::exp(-3.0)), 3 * 0x1p-23);
}

// A mask of 0 instead of minus infinity would let the experts of masked groups win over negative biased scores.
TEST(Routing, AMaskedGroupStaysOutWhenEveryBiasedScoreIsNegative) {
  const Routing routing = routing_of(Scoring::sigmoid, 2, 2, 1);
  const std::vector<float> logits = {0.0F, 0.0F, 1.0F, 1.0F};
  const auto routed = route(routing, logits.data(), 1, 4, {-3.0F, -3.0F, -9.0F, -9.0F});
  ASSERT_TRUE(routed);
  EXPECT_EQ(routed->ids, (std::vector<std::int32_t>{0, 1}));
}

TEST(Routing, AGroupIsScoredByItsTwoLargestNotByItsLargest) {
  const Routing routing = routing_of(Scoring::sigmoid, 1, 2, 1);
  const std::vector<float> logits = {4.0F, -8.0F, 2.0F, 2.0F};  // 0.982 + 0.0003 against 0.881 + 0.881
  const auto routed = route(routing, logits.data(), 1, 4, std::vector<float>(4, 0.0F));
  ASSERT_TRUE(routed);
  EXPECT_EQ(routed->ids, (std::vector<std::int32_t>{2}));
}

TEST(Routing, TiesGoToTheLowestIdOfExpertsAndOfGroups) {
  for (const Scoring scoring : kAll) {
    const std::vector<float> logits(64, -1.5F);
    const auto bias = std::vector<float>(scores_alone(scoring) ? 64 : 0, 0.25F);
    const auto routed = route(routing_of(scoring, 20), logits.data(), 1, 64, bias);
    ASSERT_TRUE(routed) << routed.error().message();
    for (int s = 0; s < 20; ++s) EXPECT_EQ(routed->ids[s], s) << to_string(scoring);
  }
  const std::vector<float> logits(64, 1.0F);
  const auto routed = route(routing_of(Scoring::sigmoid, 9, 8, 2), logits.data(), 1, 64, std::vector<float>(64, 0.0F));
  ASSERT_TRUE(routed);
  for (int s = 0; s < 9; ++s) EXPECT_EQ(routed->ids[s], s);
}

TEST(Routing, ZeroAndMinusZeroTie) {
  const std::vector<float> logits = {-0.0F, 0.0F, -0.0F, -1.0F};
  const auto routed = route(routing_of(Scoring::softmax, 3), logits.data(), 1, 4);
  ASSERT_TRUE(routed);
  EXPECT_EQ(routed->ids, (std::vector<std::int32_t>{0, 1, 2}));
}

TEST(Routing, ScaledInputIsToldAndOnlyForSigmoidOnInput) {
  const std::vector<float> logits = {0.0F, 2.0F};
  for (const Scoring scoring : kAll) {
    const auto bias = std::vector<float>(scores_alone(scoring) ? 2 : 0, 0.0F);
    const auto routed = route(routing_of(scoring, 1), logits.data(), 1, 2, bias);
    ASSERT_TRUE(routed);
    EXPECT_EQ(routed->scale_input, scoring == Scoring::sigmoid_on_input);
  }
}

TEST(Routing, LargeFiniteLogitsGiveFiniteWeights) {
  const float huge = std::numeric_limits<float>::max();
  const std::vector<float> logits = {huge, -huge, huge, 0.0F};
  for (const Scoring scoring : kAll) {
    const auto bias = std::vector<float>(scores_alone(scoring) ? 4 : 0, 0.0F);
    const auto routed = route(routing_of(scoring, 4), logits.data(), 1, 4, bias);
    ASSERT_TRUE(routed);
    // sqrt-softplus of the largest floats sums to 3.7e19 and stays finite.
    for (const float weight : routed->weights) EXPECT_TRUE(std::isfinite(weight)) << to_string(scoring);
  }
}

TEST(Routing, ScoresOfZeroRenormaliseToZeroNotToNan) {
  const std::vector<float> logits(4, -1.0e4F);
  for (const Scoring scoring : {Scoring::sigmoid, Scoring::sqrtsoftplus}) {
    const auto routed = route(routing_of(scoring, 2), logits.data(), 1, 4, std::vector<float>(4, 0.0F));
    ASSERT_TRUE(routed);
    EXPECT_EQ(routed->weights, (std::vector<float>{0.0F, 0.0F}));
  }
}

TEST(Routing, NoTokensRouteToNothing) {
  const auto routed = route(routing_of(Scoring::softmax, 2), nullptr, 0, 4);
  ASSERT_TRUE(routed);
  EXPECT_EQ(routed->tokens, 0);
  EXPECT_EQ(routed->top_k, 2);
  EXPECT_TRUE(routed->ids.empty());
}

/// Logits, a bias and settings that agree, of any size.
struct Case {
  Routing routing;
  int experts = 0;
  std::vector<float> logits;
  std::vector<float> bias;
};

Case any_case() {
  Case c;
  const int groups = *rc::gen::element(1, 2, 4);
  const auto scoring = groups == 1 ? *rc::gen::elementOf(std::vector<Scoring>(std::begin(kAll), std::end(kAll)))
                                   : *rc::gen::element(Scoring::sigmoid, Scoring::sqrtsoftplus);
  c.experts = groups * *rc::gen::inRange(1, 40);
  const int top_groups = *rc::gen::inRange(1, groups + 1);
  c.routing = routing_of(scoring, *rc::gen::inRange(1, c.experts / groups * top_groups + 1), groups, top_groups);
  c.routing.scaling_factor = *rc::gen::element(1.0F, 2.5F, 5.0F);
  const auto coarse = rc::gen::map(rc::gen::inRange(-40, 41), [](int v) { return static_cast<float>(v) / 8.0F; });
  c.logits = *rc::gen::container<std::vector<float>>(static_cast<std::size_t>(c.experts), coarse);
  if (scores_alone(scoring)) {
    c.bias = *rc::gen::container<std::vector<float>>(static_cast<std::size_t>(c.experts), coarse);
  }
  return c;
}

TEST(RoutingProperty, IdsAreDistinctAndInRange) {
  EXPECT_TRUE(rc::check([] {
    const Case c = any_case();
    const auto routed = route(c.routing, c.logits.data(), 1, c.experts, c.bias);
    RC_ASSERT(routed.has_value());
    const std::set<int> distinct(routed->ids.begin(), routed->ids.end());
    RC_ASSERT(static_cast<int>(distinct.size()) == c.routing.top_k);
    RC_ASSERT(*distinct.begin() >= 0 && *distinct.rbegin() < c.experts);
  }));
}

TEST(RoutingProperty, RenormalisedWeightsSumToTheScalingFactor) {
  EXPECT_TRUE(rc::check([] {
    const Case c = any_case();
    RC_PRE(c.routing.renormalize);
    const auto routed = route(c.routing, c.logits.data(), 1, c.experts, c.bias);
    RC_ASSERT(routed.has_value());
    const double sum = std::accumulate(routed->weights.begin(), routed->weights.end(), 0.0);
    RC_ASSERT(std::abs(sum / c.routing.scaling_factor - 1.0) < (c.routing.top_k + 2) * 0x1p-23);
  }));
}

TEST(RoutingProperty, EqualLogitsAndBiasesGiveAscendingIds) {
  EXPECT_TRUE(rc::check([] {
    const Case c = any_case();
    const auto routed = route(c.routing, c.logits.data(), 1, c.experts, c.bias);
    RC_ASSERT(routed.has_value());
    for (int s = 1; s < c.routing.top_k; ++s) {
      const int before = routed->ids[s - 1];
      const int id = routed->ids[s];
      const bool tie = c.logits[before] == c.logits[id] && (c.bias.empty() || c.bias[before] == c.bias[id]);
      if (tie) RC_ASSERT(before < id);
    }
  }));
}

TEST(RoutingProperty, PermutingDistinctExpertsPermutesTheResult) {
  EXPECT_TRUE(rc::check([] {
    const int experts = *rc::gen::inRange(1, 64);
    const auto scoring = *rc::gen::elementOf(std::vector<Scoring>(std::begin(kAll), std::end(kAll)));
    const Routing routing = routing_of(scoring, *rc::gen::inRange(1, experts + 1));
    std::mt19937 random(*rc::gen::arbitrary<std::uint32_t>());
    const std::vector<float> logits = grid_logits(1, experts, random);
    const std::vector<float> bias(scores_alone(scoring) ? logits.size() : 0, 0.0F);
    std::vector<int> place(logits.size());
    std::iota(place.begin(), place.end(), 0);
    std::shuffle(place.begin(), place.end(), random);
    std::vector<float> moved(logits.size());
    for (int e = 0; e < experts; ++e) moved[place[e]] = logits[e];
    const auto before = route(routing, logits.data(), 1, experts, bias);
    const auto after = route(routing, moved.data(), 1, experts, bias);
    RC_ASSERT(before.has_value() && after.has_value());
    for (int s = 0; s < routing.top_k; ++s) RC_ASSERT(after->ids[s] == place[before->ids[s]]);
    // Not RC_ASSERT(after->weights == before->weights): the sum over all experts of a plain softmax may round
    // otherwise.
    for (int s = 0; s < routing.top_k; ++s) {
      RC_ASSERT(std::abs(after->weights[s] - before->weights[s]) <= experts * 0x1p-23 * before->weights[s]);
    }
  }));
}

}  // namespace
}  // namespace tilewright
