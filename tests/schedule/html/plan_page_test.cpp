// The page of a plan. tests/html reads pages of the tool as XML and compares their numbers with the JSON.
#include <gtest/gtest.h>

#include "schedule/format.hpp"
#include "schedule/problems.hpp"
#include "tilewright/plan_render.hpp"

namespace tilewright {
namespace {

using schedule_tests::device;

bool holds(const std::string& text, const std::string& word) { return text.find(word) != std::string::npos; }

Plan three_batches(const std::string& name, Precision precision) {
  Plan document = plan(device(name), schedule_tests::glm5(1, 8, precision)).value();
  for (const std::int64_t tokens : {64, 4096})
    append(document, plan(device(name), schedule_tests::glm5(tokens, 8, precision)).value());
  return document;
}

TEST(PlanPage, HasEverySectionThatThePlanHasFactsFor) {
  const std::string page = render_plan_html(three_batches("rtx-pro-6000-server", Precision::w4a4));
  for (const char* section : {"chosen", "layer", "roofline", "times", "terms", "memory", "rejected"}) {
    EXPECT_TRUE(holds(page, "<section id=\"" + std::string(section) + "\"")) << section;
    EXPECT_TRUE(holds(page, "<a href=\"#" + std::string(section) + "\"")) << section;
  }
  for (const char* figure : {"layer-chart", "roofline-chart", "times-1-chart", "times-2-chart", "memory-chart"}) {
    EXPECT_TRUE(holds(page, "<figure id=\"" + std::string(figure) + "\">")) << figure;
  }
  EXPECT_FALSE(holds(page, "id=\"candidates\""));
  EXPECT_FALSE(holds(page, "id=\"why-not\""));
}

TEST(PlanPage, HasASectionForWhatWasAskedBesides) {
  PlanOptions options;
  options.why_not = {parse_tile("128x256x128").value()};
  const Plan document = plan(device("h200"), schedule_tests::qwen3(16, Precision::w4a16), options).value();
  const std::string page = render_plan_html(document, {true});
  EXPECT_TRUE(holds(page, "<section id=\"why-not\""));
  EXPECT_TRUE(holds(page, "<section id=\"candidates\""));
  for (const Candidate& candidate : document.plans.front().ranked)
    EXPECT_TRUE(holds(page, describe(candidate.schedule)));
}

TEST(PlanPage, DrawsNoLineThroughOneTokenCount) {
  const std::string page = render_plan_html(plan(device("h200"), schedule_tests::qwen3(16, Precision::w4a16)).value());
  EXPECT_FALSE(holds(page, "times-1-chart"));
  EXPECT_TRUE(holds(page, "<table id=\"times-1\">"));
}

TEST(PlanPage, SaysWhyWhereNothingCanRun) {
  const Plan document = plan(device("b200"), schedule_tests::glm5(512, 8, Precision::w4a4)).value();
  const std::string page = render_plan_html(document);
  EXPECT_TRUE(holds(page, "no_kernels_for_arch"));
  EXPECT_TRUE(holds(page, schedule::microseconds(document.plans.front().floor.us())));
  EXPECT_FALSE(holds(page, "memory-chart"));
  EXPECT_FALSE(holds(page, "nan"));
}

TEST(PlanPage, PlansACpu) {
  const std::string page =
      render_plan_html(plan(schedule_tests::cpu(), schedule_tests::qwen3(16, Precision::w4a16)).value());
  EXPECT_TRUE(holds(page, "Working set of a core"));
  EXPECT_TRUE(holds(page, "memory measured, 50 GB/s"));
  EXPECT_TRUE(holds(page, "dot products measured of w4a16, 0.6 TFLOP/s"));
}

TEST(PlanPage, NamesGroupsOfOneGemmByWhatTellsThemApart) {
  Plan document = plan(device("rtx-pro-6000-server"), schedule_tests::glm5(64, 8, Precision::w4a4)).value();
  append(document, plan(device("rtx-pro-6000-server"), schedule_tests::glm5(64, 4, Precision::w4a4)).value());
  const std::string page = render_plan_html(document);
  EXPECT_TRUE(holds(page, "gemm1, 32 experts: predicted us"));
  EXPECT_TRUE(holds(page, "gemm1, 64 experts: predicted us"));
  EXPECT_TRUE(holds(page, "64 tokens, 64 experts"));  // a bar of the layer
}

TEST(PlanPage, KeepsStringsInert) {
  Plan document = three_batches("h200", Precision::w4a16);
  const std::string hostile = "</style><script>alert(1)</script>\"'&\x01\xFF";
  document.subject = hostile;
  document.device.name = hostile;
  document.device.title = hostile;
  document.device.note = hostile;
  document.layers.front().steps.front().name = hostile;
  document.plans.front().rejected.push_back({std::nullopt, RejectionCode::no_fp4_mma, 0, 0, hostile, std::nullopt});
  const std::string page = render_plan_html(document);
  EXPECT_FALSE(holds(page, "<script"));
  EXPECT_FALSE(holds(page, "alert(1)<"));
  EXPECT_TRUE(holds(page, "&lt;script&gt;alert(1)&lt;/script&gt;"));
  EXPECT_EQ(page.find('\x01'), std::string::npos);
  EXPECT_EQ(page.find('\xFF'), std::string::npos);
}

TEST(PlanPage, IsTheSameForTheSamePlan) {
  const Plan document = three_batches("rtx-pro-6000-server", Precision::w4a4);
  EXPECT_EQ(render_plan_html(document), render_plan_html(document));
}

}  // namespace
}  // namespace tilewright
