#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "tilewright/routing.hpp"

namespace tilewright {
namespace {

/// A DeepSeek-V3 router in small: 16 experts in 4 groups, of which 2 are kept, top-3.
Routing small_deepseek() {
  Routing routing;
  routing.scoring = Scoring::sigmoid;
  routing.top_k = 3;
  routing.groups = 4;
  routing.top_groups = 2;
  routing.selection_bias = true;
  return routing;
}

/// The error of routing one token of 16 experts, whose message has each of `words`.
void expect_refused(const Routing& routing, ErrorCode code, const std::vector<std::string>& words, int experts = 16,
                    const std::vector<float>& bias = std::vector<float>(16, 0.0F)) {
  const std::vector<float> logits(64, 0.0F);
  const auto routed = route(routing, logits.data(), 1, experts, bias);
  ASSERT_FALSE(routed);
  EXPECT_EQ(routed.error().code, code) << routed.error().message();
  EXPECT_FALSE(routed.error().remedy.empty());
  EXPECT_EQ(routed.error().message().find('\n'), std::string::npos);
  for (const std::string& word : words) {
    EXPECT_NE(routed.error().message().find(word), std::string::npos) << word << " in " << routed.error().message();
  }
}

TEST(RoutingErrors, TheSmallRouterItselfIsAccepted) {
  const std::vector<float> logits(16, 0.0F);
  EXPECT_TRUE(route(small_deepseek(), logits.data(), 1, 16, std::vector<float>(16, 0.0F)));
}

TEST(RoutingErrors, TopKOutsideTheExpertsNamesBoth) {
  Routing routing = small_deepseek();
  routing.top_k = 17;
  expect_refused(routing, ErrorCode::invalid_argument, {"top-k 17", "16 experts"});
  routing.top_k = 0;
  expect_refused(routing, ErrorCode::invalid_argument, {"top-k 0", "16 experts"});
}

TEST(RoutingErrors, TopKAboveTheExpertsOfTheKeptGroupsNamesThem) {
  Routing routing = small_deepseek();
  routing.top_k = 9;
  expect_refused(routing, ErrorCode::invalid_argument, {"top-k 9", "8 experts", "2 kept groups of 4"});
}

TEST(RoutingErrors, GroupsThatDoNotDivideTheExpertsNameBoth) {
  Routing routing = small_deepseek();
  for (const int groups : {0, -1, 5}) {
    routing.groups = groups;
    expect_refused(routing, ErrorCode::invalid_argument, {"16 experts", std::to_string(groups) + " groups"});
  }
}

TEST(RoutingErrors, TopGroupsOutOfRangeNamesTheRange) {
  Routing routing = small_deepseek();
  for (const int top_groups : {0, 5}) {
    routing.top_groups = top_groups;
    expect_refused(routing, ErrorCode::invalid_argument, {std::to_string(top_groups) + " groups kept", "1 to 4"});
  }
}

TEST(RoutingErrors, GroupsOrABiasWithASoftmaxAreNamed) {
  Routing routing = small_deepseek();
  routing.scoring = Scoring::softmax;
  expect_refused(routing, ErrorCode::unsupported, {"4 groups", "softmax"});
  routing.groups = 1;
  routing.top_groups = 1;
  expect_refused(routing, ErrorCode::unsupported, {"selection bias", "softmax"});
}

TEST(RoutingErrors, ABiasOfTheWrongLengthNamesBothLengths) {
  expect_refused(small_deepseek(), ErrorCode::mismatch, {"15 values", "16 experts"}, 16, std::vector<float>(15, 0.0F));
  expect_refused(small_deepseek(), ErrorCode::mismatch, {"0 values", "16 experts"}, 16, {});
  Routing routing = small_deepseek();
  routing.selection_bias = false;
  expect_refused(routing, ErrorCode::mismatch, {"16 values", "does not have one"});
}

TEST(RoutingErrors, ABiasThatIsNotFiniteNamesTheExpert) {
  std::vector<float> bias(16, 0.0F);
  bias[5] = std::numeric_limits<float>::quiet_NaN();
  expect_refused(small_deepseek(), ErrorCode::invalid_argument, {"expert 5", "nan"}, 16, bias);
}

TEST(RoutingErrors, ALogitThatIsNotFiniteNamesTokenAndExpert) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    std::vector<float> logits(3 * 16, 1.0F);
    logits[2 * 16 + 13] = bad;
    const auto routed = route(small_deepseek(), logits.data(), 3, 16, std::vector<float>(16, 0.0F));
    ASSERT_FALSE(routed);
    EXPECT_EQ(routed.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(routed.error().cause.find("token 2 for expert 13"), std::string::npos) << routed.error().cause;
  }
}

TEST(RoutingErrors, AScalingFactorThatIsNotFiniteIsNamed) {
  Routing routing = small_deepseek();
  routing.scaling_factor = std::numeric_limits<float>::infinity();
  expect_refused(routing, ErrorCode::invalid_argument, {"scaling factor inf"});
}

TEST(RoutingErrors, SigmoidOnInputDoesNotRenormalise) {
  Routing routing;
  routing.scoring = Scoring::sigmoid_on_input;
  expect_refused(routing, ErrorCode::invalid_argument, {"sigmoid_on_input", "renormalize"}, 16, {});
}

TEST(RoutingErrors, NegativeSizesAndMissingLogitsAreNamed) {
  const Routing routing;
  const float logit = 0.0F;
  EXPECT_NE(route(routing, &logit, -1, 1).error().cause.find("-1 tokens"), std::string::npos);
  EXPECT_NE(route(routing, &logit, 1, 0).error().cause.find("0 experts"), std::string::npos);
  EXPECT_NE(route(routing, nullptr, 2, 1).error().cause.find("no logits for 2 tokens"), std::string::npos);
}

TEST(ScoringNames, EveryNameReadsBackAndAnUnknownOneListsThem) {
  const auto unknown = parse_scoring("topk");
  ASSERT_FALSE(unknown);
  for (const Scoring scoring :
       {Scoring::softmax, Scoring::softmax_topk, Scoring::sigmoid, Scoring::sqrtsoftplus, Scoring::sigmoid_on_input}) {
    EXPECT_EQ(parse_scoring(to_string(scoring)).value(), scoring);
    EXPECT_NE(unknown.error().message().find(to_string(scoring)), std::string::npos);
  }
}

}  // namespace
}  // namespace tilewright
