// Explanations as people and programs read them, against files. TILEWRIGHT_UPDATE_GOLDEN=1 writes the files anew; a
// change of an answer is then a change that a review sees.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tilewright/cutlass_render.hpp"

namespace tilewright {
namespace {

void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(TILEWRIGHT_TEST_DATA) + "/cutlass/" + name;
  if (std::getenv("TILEWRIGHT_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    ASSERT_TRUE(std::ifstream(path)) << "cannot write " << path;
  }
  std::ifstream in(path, std::ios::binary);
  ASSERT_TRUE(in) << path << " is missing; write it with TILEWRIGHT_UPDATE_GOLDEN=1";
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(in), {})) << path;
}

CutlassExplanation explained(CutlassRequest request, const CutlassOpen& open = {}) {
  auto defaults = fill_as_flashinfer(request, open);
  if (request.fusion == CutlassFusion::finalize) request.d = CutlassElement::none;
  auto explanation = explain_cutlass(request, std::move(defaults));
  if (!explanation) ADD_FAILURE() << explanation.error().message();
  return explanation ? std::move(*explanation) : CutlassExplanation{};
}

CutlassRequest grouped(Arch arch, const CutlassTile& tile) {
  CutlassRequest request;
  request.arch = arch;
  request.grouped = true;
  request.tile = tile;
  return request;
}

// The kernel of the report that started this: it builds, and cannot launch.
CutlassRequest failing() {
  CutlassRequest request = grouped(Arch::sm_120, {128, 256, 128});
  request.fusion = CutlassFusion::finalize;
  return request;
}

TEST(CutlassText, TellsTheOwnerOfTheFailingKernelWhatHappened) {
  expect_golden("explain_overflow.txt", render_cutlass_text(explained(failing())));
}

TEST(CutlassText, FitsOneScreen) {
  std::istringstream lines(render_cutlass_text(explained(failing())));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 110U) << line;
  EXPECT_LE(count, 45);
}

TEST(CutlassText, ExplainsAKernelThatFits) {
  expect_golden("explain_fits.txt", render_cutlass_text(explained(grouped(Arch::sm_120, {128, 128, 128}))));
}

TEST(CutlassText, ExplainsABuildThatStopsForWantOfStages) {
  expect_golden("explain_stages.txt", render_cutlass_text(explained(grouped(Arch::sm_120, {128, 256, 256}))));
}

TEST(CutlassText, ExplainsThatNoBuilderExists) {
  // Tilewright's own account for SM90 is another test's matter.
  const std::string text = render_cutlass_text(explained(grouped(Arch::sm_90, {128, 128, 128})));
  expect_golden("explain_no_builder.txt", text.substr(0, text.find("  ours")));
}

TEST(CutlassText, SaysWhatIsCoveredWhereARequestIsNot) {
  const auto explanation = explain_cutlass(grouped(Arch::sm_110, {128, 128, 128}));
  ASSERT_FALSE(explanation);
  EXPECT_EQ(explanation.error().code, ErrorCode::unsupported);
  expect_golden("explain_unsupported.txt", explanation.error().message() + "\n");
}

TEST(CutlassMarkdown, HoldsTheSameFacts) {
  expect_golden("explain_overflow.md", render_cutlass_markdown(explained(failing())));
}

TEST(CutlassDot, DrawsTheResolution) {
  expect_golden("explain_overflow.dot", render_cutlass_dot(explained(failing())));
}

TEST(CutlassJson, HoldsEveryField) {
  const std::string text = render_cutlass_json(explained(failing()));
  expect_golden("explain_overflow.json", text);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["total"], 102400);
  EXPECT_EQ(json["limit"], 101376);
  EXPECT_EQ(json["over_bytes"], 1024);
  EXPECT_EQ(json["reserved_bytes"], 101168);  // 3 * 27,776 + 17,408 + 432
  std::int64_t bytes = 0;
  std::int64_t reserved = 0;
  for (const auto& member : json["storage"]) {
    EXPECT_EQ(member["offset"], bytes) << member.dump();
    bytes += member["bytes"].get<std::int64_t>();
    reserved += member["reserved"].get<std::int64_t>();
  }
  EXPECT_EQ(bytes, json["total"]);
  EXPECT_EQ(reserved, json["reserved_bytes"]);
}

TEST(CutlassJson, OfABuildErrorHasTheRuleAndNoSizes) {
  const auto json = nlohmann::json::parse(render_cutlass_json(explained(grouped(Arch::sm_120, {128, 256, 256}))));
  EXPECT_EQ(json["error"]["rule"], "stages_below_2");
  EXPECT_TRUE(json["resolved"].is_null());
  EXPECT_TRUE(json["total"].is_null());
  EXPECT_EQ(json["fits"], false);
}

CutlassComparison compared(const std::vector<Arch>& archs, CutlassRequest request) {
  CutlassComparison comparison;
  for (const Arch arch : archs) {
    request.arch = arch;
    CutlassComparison::Side side;
    side.arch = arch;
    if (arch == Arch::sm_110) {
      side.unsupported = explain_cutlass(request).error().message();
    } else {
      side.explanation = explained(request);
    }
    comparison.sides.push_back(std::move(side));
  }
  return comparison;
}

TEST(CutlassComparison, SaysWhyATileWorksThereAndFailsHere) {
  const CutlassComparison comparison = compared({Arch::sm_100, Arch::sm_120}, failing());
  expect_golden("explain_compare.txt", render_cutlass_text(comparison));
  expect_golden("explain_compare.md", render_cutlass_markdown(comparison));
  const auto json = nlohmann::json::parse(render_cutlass_json(comparison));
  EXPECT_EQ(json["schema"], "tilewright.explain/1");
  EXPECT_EQ(json["compare"][0]["fits"], true);
  EXPECT_EQ(json["compare"][1]["fits"], false);
}

TEST(CutlassComparison, KeepsASideThatIsNotCovered) {
  const CutlassComparison comparison = compared({Arch::sm_110, Arch::sm_120}, failing());
  EXPECT_NE(render_cutlass_text(comparison).find("not covered"), std::string::npos);
  EXPECT_NE(render_cutlass_dot(comparison).find("subgraph cluster_sm_110"), std::string::npos);
  EXPECT_TRUE(nlohmann::json::parse(render_cutlass_json(comparison))["compare"][0].contains("unsupported"));
}

}  // namespace
}  // namespace tilewright
