// Plans as people read them, against files. TILEWRIGHT_UPDATE_GOLDEN=1 writes the files anew; a change of a plan is
// then a change that a review sees.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "schedule/problems.hpp"
#include "tilewright/plan_render.hpp"

namespace tilewright {
namespace {

using schedule_tests::device;

void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(TILEWRIGHT_TEST_DATA) + "/plan/" + name;
  if (std::getenv("TILEWRIGHT_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    ASSERT_TRUE(std::ifstream(path)) << "cannot write " << path;
  }
  std::ifstream in(path, std::ios::binary);
  ASSERT_TRUE(in) << path << " is missing; write it with TILEWRIGHT_UPDATE_GOLDEN=1";
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(in), {})) << path;
}

TEST(PlanText, AnswersTheReportThatStartedTheProject) {
  // plan --arch sm_120 --groups 32 --rows 16 --n 4096 --k 6144 --precision w4a4
  const GemmProblem problem = grouped_gemm(32, 16, 4096, 6144, Precision::w4a4).value();
  expect_golden("sm_120_groups.txt", render_plan_text(plan(default_device(Arch::sm_120).value(), problem).value()));
}

TEST(PlanText, AnswersWhyNotForThreeBatches) {
  // plan --device gb10 --config ... --tokens 1,16,256 --why-not 128x256x128
  PlanOptions options;
  options.why_not = {parse_tile("128x256x128").value(), parse_tile("128x256x128:4").value()};
  Plan document = plan(device("gb10"), schedule_tests::qwen3(1, Precision::w4a4), options).value();
  for (const std::int64_t tokens : {16, 256}) {
    append(document, plan(device("gb10"), schedule_tests::qwen3(tokens, Precision::w4a4), options).value());
  }
  expect_golden("gb10_why_not.txt", render_plan_text(document));
}

TEST(PlanText, SaysWhatAnArchitectureWithoutKernelsCouldDo) {
  expect_golden("b200_no_kernels.txt",
                render_plan_text(plan(device("b200"), schedule_tests::glm5(512, 8, Precision::w4a4)).value()));
}

TEST(PlanText, ExplainsACpuPlanAndListsItsCandidates) {
  expect_golden(
      "cpu.txt",
      render_plan_text(plan(schedule_tests::cpu(), schedule_tests::qwen3(16, Precision::w4a16)).value(), {true}));
}

TEST(PlanMarkdown, HoldsTheSameFacts) {
  expect_golden("h200.md",
                render_plan_markdown(plan(device("h200"), schedule_tests::glm5(64, 8, Precision::w4a16)).value()));
}

TEST(PlanCsv, HasOneLineAGemm) {
  Plan document = plan(device("h200"), schedule_tests::glm5(64, 8, Precision::w4a16)).value();
  const std::string csv = render_plan_csv(document);
  expect_golden("h200.csv", csv);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3);
}

TEST(PlanCsv, HasAsManyFieldsInEveryLine) {
  for (const char* name : {"h200", "b200"}) {
    const Device d = device(name);
    const std::string csv =
        render_plan_csv(plan(d, schedule_tests::glm5(64, 8, default_precision(d.arch))).value(), {true});
    std::size_t begin = 0;
    const auto fields = [&](std::size_t end) { return std::count(csv.begin() + begin, csv.begin() + end, ','); };
    const auto expected = fields(csv.find('\n'));
    while (begin < csv.size()) {
      const std::size_t end = csv.find('\n', begin);
      EXPECT_EQ(fields(end), expected) << csv.substr(begin, end - begin);
      begin = end + 1;
    }
  }
}

}  // namespace
}  // namespace tilewright
