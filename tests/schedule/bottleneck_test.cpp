// Where the time of a layer over several GPUs goes.
#include "tilewright/bottleneck.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "schedule/problems.hpp"
#include "tilewright/planner.hpp"

namespace tilewright {
namespace {

using schedule_tests::device;

LayerProblem glm5(std::int64_t tokens, int tp, int ep) {
  LayerProblem problem = schedule_tests::glm5(tokens, ep, Precision::w4a4);
  problem.tp = tp;
  return problem;
}

LayerBottleneck on_the_card(std::int64_t tokens, int tp, int ep, const char* link = "pcie5") {
  return find_bottleneck(device("rtx-pro-6000-server"), glm5(tokens, tp, ep), find_link(link).value()).value();
}

TEST(Exchanges, AllReduceTheOutputInOneShotWhereItIsSmallAndInTwoWhereItIsLarge) {
  const Link link = find_link("pcie5").value();
  const auto small = exchanges(glm5(1, 8, 1), link);
  ASSERT_EQ(small.size(), 1U);
  EXPECT_EQ(small[0].name, "all_reduce");
  EXPECT_EQ(small[0].bytes, 7 * 6144 * 2);
  EXPECT_NEAR(small[0].us, 7 * 6144 * 2 / (1e3 * link.GBps) + link.latency_us, 1e-9);
  const auto large = exchanges(glm5(1024, 8, 1), link);
  EXPECT_EQ(large[0].bytes, 2 * 7 * 1024 * 6144 * 2 / 8);
}

TEST(Exchanges, SendATokenOnceToEachRankThatHasOneOfItsExperts) {
  // 8 of 256 experts over 8 ranks: a token misses a rank's 32 experts with C(224, 8) / C(256, 8) = 0.3382.
  const auto list = exchanges(glm5(1024, 1, 8), find_link("pcie5").value());
  ASSERT_EQ(list.size(), 2U);
  const double copies = 128 * 7 * (1.0 - 0.33817);
  EXPECT_NEAR(static_cast<double>(list[0].bytes), copies * 6144 * 9 / 16, 0.001 * copies * 6144 * 9 / 16);
  EXPECT_NEAR(static_cast<double>(list[1].bytes) / static_cast<double>(list[0].bytes), 2.0 * 16 / 9, 1e-3);
  EXPECT_TRUE(exchanges(glm5(1024, 1, 1), find_link("pcie5").value()).empty());
}

// The report that started the project: at 16 to 32 tokens an expert the time goes into the experts and not into
// communication, and the machine is far below its roofline.
TEST(Bottleneck, IsTheExpertsAndNotCommunicationAt16To32TokensAnExpert) {
  for (const std::int64_t tokens : {512, 1024}) {
    const LayerBottleneck ep = on_the_card(tokens, 1, 8);
    EXPECT_NEAR(ep.rows_per_expert, static_cast<double>(tokens) / 32, 0.01);
    EXPECT_EQ(ep.bound, LayerPart::weights) << tokens;
    EXPECT_LT(ep.communication_us, 0.35 * ep.experts_us) << tokens;
    EXPECT_LT(ep.peak_share, 0.07) << tokens;
    EXPECT_GT(ep.floor_us / ep.experts_us, 0.8) << tokens;  // our kernels are close to what bytes allow
    // The usual stack is as far from the peak, and slower on the card.
    EXPECT_GT(ep.usual_stack_us, ep.experts_us) << tokens;
    const LayerBottleneck tp = on_the_card(tokens, 8, 1);
    EXPECT_LT(tp.communication_us, tp.experts_us) << tokens;
    EXPECT_LT(tp.peak_share, 0.05) << tokens;
  }
}

TEST(Bottleneck, IsCommunicationInLongPrefillOverPcieAndNoLongerOverNvlink) {
  EXPECT_EQ(on_the_card(16384, 1, 8).bound, LayerPart::communication);
  const LayerBottleneck nvlink = on_the_card(16384, 1, 8, "nvlink4");
  EXPECT_NE(nvlink.bound, LayerPart::communication);
  EXPECT_LT(nvlink.communication_us, nvlink.experts_us);
}

TEST(Bottleneck, ProposesTheChangesInTheOrderOfWhatTheyBring) {
  const LayerBottleneck tp = on_the_card(1024, 8, 1);
  ASSERT_GE(tp.changes.size(), 3U);
  EXPECT_EQ(tp.changes.front().name, "parallelism");
  EXPECT_TRUE(std::is_sorted(tp.changes.begin(), tp.changes.end(),
                             [](const auto& a, const auto& b) { return a.throughput > b.throughput; }));
  const LayerBottleneck ep = on_the_card(1024, 1, 8);
  EXPECT_NEAR(tp.changes.front().us, ep.total_us, 1e-9);
  EXPECT_NEAR(tp.changes.front().throughput, tp.total_us / ep.total_us, 1e-9);
  for (const LayerChange& change : ep.changes) {
    if (change.name == "batch") {
      EXPECT_NEAR(change.us, on_the_card(2048, 1, 8).total_us, 1e-9);
      EXPECT_NEAR(change.throughput, 2.0 * ep.total_us / change.us, 1e-9);
    }
    if (change.name == "link") {
      EXPECT_NEAR(change.us, on_the_card(1024, 1, 8, "nvlink4").total_us, 1e-9);
    }
  }
}

TEST(Bottleneck, TotalsAreTheLayerOfThePlanAndItsExchanges) {
  const LayerBottleneck found = on_the_card(96, 2, 4);
  const Plan layer = plan(device("rtx-pro-6000-server"), glm5(96, 2, 4)).value();
  EXPECT_DOUBLE_EQ(found.experts_us, layer.layers[0].predicted_us);
  double exchanged = 0.0;
  for (const Exchange& exchange : found.exchanges) exchanged += exchange.us;
  EXPECT_EQ(found.exchanges.size(), 3U);
  EXPECT_DOUBLE_EQ(found.total_us, found.experts_us + exchanged);
  EXPECT_EQ(found.parts.size(), 7U);
}

TEST(Bottleneck, SaysWhatItCannotAnswer) {
  EXPECT_EQ(find_link("infiniband").error().code, ErrorCode::not_found);
  EXPECT_EQ(usual_link(device("h200")).name, "nvlink4");
  EXPECT_EQ(find_bottleneck(device("b200"), glm5(64, 1, 8), known_links()[2]).error().code, ErrorCode::unsupported);
  EXPECT_EQ(find_bottleneck(device("rtx-pro-6000-server"), glm5(64, 3, 1), known_links()[0]).error().code,
            ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace tilewright
