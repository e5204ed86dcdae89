#include <gtest/gtest.h>

#include "cli/run_tool.hpp"

namespace tilewright::testing {
namespace {

TEST(Verify, EveryCaseOnEveryTierMatchesTheReference) {
  const ToolRun run = tilewright("verify --backend cpu --format json");
  EXPECT_EQ(run.exit, 0) << run.err;
  const auto document = run.json();
  EXPECT_EQ(document["schema"], "tilewright.verify/1");
  EXPECT_EQ(document["failed"], 0);
  EXPECT_EQ(document["passed"], document["checks"].size());
  EXPECT_GT(document["checks"].size(), 40U);
  for (const auto& check : document["checks"]) {
    EXPECT_TRUE(check["repeatable"]) << check;
    EXPECT_LE(check["max_rel_err"], check["tolerance"]) << check;
  }
}

TEST(Verify, ChecksOneTierAndOnePrecisionOnRequest) {
  const auto document = tilewright("verify --isa portable --precision w4a4 --format json").json();
  EXPECT_EQ(document["isa_tiers"], nlohmann::json::array({"portable"}));
  for (const auto& check : document["checks"]) EXPECT_EQ(check["precision"], "w4a4");
}

TEST(Verify, ATierOrBackendThatIsNotHereIsRefused) {
  EXPECT_EQ(tilewright("verify --isa sse9").exit, 2);
  EXPECT_EQ(tilewright("verify --backend abacus").exit, 2);
  EXPECT_EQ(tilewright("verify --backend cuda --isa avx2").exit, 2);
  EXPECT_EQ(tilewright("verify --backend cuda --precision w4a4").exit, 4);
  if (cuda_runs_here()) GTEST_SKIP() << "there is a GPU";
  const ToolRun cuda = tilewright("verify --backend cuda");
  EXPECT_EQ(cuda.exit, 4);
  EXPECT_EQ(cuda.error_lines(), 1) << cuda.err;
}

TEST(Verify, EveryCaseOnTheGpuMatchesTheReference) {
  if (!cuda_runs_here()) GTEST_SKIP() << "no GPU that the kernels are built for";
  const ToolRun run = tilewright("verify --backend cuda --format json");
  EXPECT_EQ(run.exit, 0) << run.err;
  const auto document = run.json();
  EXPECT_EQ(document["failed"], 0);
  for (const auto& check : document["checks"]) EXPECT_TRUE(check["passed"]) << check;
}

}  // namespace
}  // namespace tilewright::testing
