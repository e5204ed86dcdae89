#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/run_tool.hpp"
#include "support/temporary_directory.hpp"

namespace tilewright::testing {
namespace {

const std::string kLayers = std::string(TILEWRIGHT_TEST_DATA) + "/published/moe_rtx_pro_6000_nvfp4.csv";

TEST(ValidateVerb, PrintsTheErrorOfEveryStackOnItsHeldOutHalf) {
  const auto answer = tilewright("validate " + kLayers + " --format json").json();
  EXPECT_EQ(answer["schema"], "tilewright.validate/1");
  EXPECT_EQ(answer["device"], "rtx-pro-6000-server");
  ASSERT_EQ(answer["stacks"].size(), 3U);
  for (const auto& stack : answer["stacks"]) {
    EXPECT_GT(stack["held_out"]["rows"], 0);
    EXPECT_LT(stack["held_out"]["mape"], 0.07);
    EXPECT_EQ(stack["by_distribution"].size(), 2U);
  }
  EXPECT_LT(answer["held_out"]["mape"], 0.06);
  for (const char* format : {"text", "md", "csv"}) {
    const ToolRun run = tilewright("validate " + kLayers + " --format " + format);
    EXPECT_EQ(run.exit, 0);
    EXPECT_NE(run.out.find("held-out half"), std::string::npos) << format;
  }
}

TEST(ValidateVerb, SaysInOneLineWhatIsWrongWithItsInput) {
  EXPECT_EQ(tilewright("validate").exit, 2);
  EXPECT_EQ(tilewright("validate /no/such/file.csv").exit, 1);
  EXPECT_EQ(tilewright("validate " + kLayers + " --device h200").exit, 4);
  const TemporaryDirectory folder;
  const std::string broken = (std::filesystem::path(folder.path()) / "broken.csv").string();
  std::ofstream(broken) << "framework,version\nA,1\n";
  const ToolRun refused = tilewright("validate " + broken);
  EXPECT_EQ(refused.exit, 1);
  EXPECT_EQ(refused.error_lines(), 1);
}

}  // namespace
}  // namespace tilewright::testing
