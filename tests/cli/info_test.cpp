#include <gtest/gtest.h>

#include "cli/run_tool.hpp"

namespace tilewright::testing {
namespace {

TEST(Info, TellsVersionBackendsCpuDevicesAndModels) {
  const auto document = tilewright("info --format json").json();
  EXPECT_EQ(document["schema"], "tilewright.info/1");
  EXPECT_EQ(document["version"], TILEWRIGHT_VERSION);
  EXPECT_EQ(document["backends"][0], "cpu");
  EXPECT_GE(document["cpu"]["cores"], 1);
  EXPECT_EQ(document["cpu"]["isa_tiers"][0], "portable");
  EXPECT_EQ(document["cpu"]["isa"], document["cpu"]["isa_tiers"].back());
  EXPECT_GE(document["devices"].size(), 11U);
  EXPECT_GE(document["models"].size(), 40U);
}

TEST(Info, SaysWhetherThereAreCudaKernelsAndWhyTheyDoNotRunHere) {
  const auto document = tilewright("info --doctor --format json").json();
  const auto& build = document["doctor"]["build"];
  const bool built = !build["cuda_targets"].empty();
  EXPECT_EQ(build["backends"], document["backends"]);
  EXPECT_EQ(build["backends"].size(), built ? 2U : 1U);
  EXPECT_EQ(build["cuda_absent"].is_null(), cuda_runs_here());
  const std::string words = cuda_runs_here() ? "sm_90a; runs here" : built ? "sm_90a; not here: " : "none; ";
  for (const std::string verb : {"info", "info --doctor"}) {
    const std::string text = tilewright(verb).out;
    const auto line = text.find("CUDA kernels");
    ASSERT_NE(line, std::string::npos) << text;
    EXPECT_LT(text.find(words, line), text.find('\n', line)) << text;
  }
}

TEST(Info, DoesNotClaimThatSm12xKernelsHaveRunOnTheirHardware) {
  const bool built = !tilewright("info --doctor --format json").json()["doctor"]["build"]["cuda_targets"].empty();
  for (const std::string verb : {"info", "info --doctor"}) {
    const std::string text = tilewright(verb).out;
    const auto line = text.find("SM12x kernels");
    ASSERT_NE(line, std::string::npos) << text;
    EXPECT_LT(text.find(built ? "never on SM12x" : "none", line), text.find('\n', line)) << text;
  }
}

TEST(Info, EveryListedDeviceAndModelIsKnownToPlan) {
  const auto document = tilewright("info --format json").json();
  for (const auto& device : document["devices"]) {
    const ToolRun run = tilewright("plan --device " + device["name"].get<std::string>() +
                                   " --groups 1 --rows 1 --n 256 --k 256 --format csv");
    EXPECT_TRUE(run.exit == 0 || run.exit == 4) << device << run.err;  // 4: planned for, without kernels
  }
  for (const auto& model : document["models"]) {
    const ToolRun run =
        tilewright("plan --device h200 --tokens 1 --format csv --model " + model["name"].get<std::string>());
    EXPECT_EQ(run.exit, 0) << model << run.err;
  }
}

TEST(Info, ListsDevicesAndModelsOnRequest) {
  EXPECT_NE(tilewright("info --devices").out.find("rtx-pro-6000-max-q"), std::string::npos);
  EXPECT_NE(tilewright("info --models --format csv").out.find("qwen3-30b-a3b,2048,768,128,8,softmax,silu_gated"),
            std::string::npos);
}

}  // namespace
}  // namespace tilewright::testing
