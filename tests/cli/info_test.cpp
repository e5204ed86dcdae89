#include <gtest/gtest.h>

#include "cli/run_tool.hpp"

namespace tilewright::testing {
namespace {

TEST(Info, TellsVersionBackendsCpuDevicesAndModels) {
  const auto document = tilewright("info --format json").json();
  EXPECT_EQ(document["schema"], "tilewright.info/1");
  EXPECT_EQ(document["version"], TILEWRIGHT_VERSION);
  EXPECT_EQ(document["backends"], nlohmann::json::array({"cpu"}));
  EXPECT_GE(document["cpu"]["cores"], 1);
  EXPECT_EQ(document["cpu"]["isa_tiers"][0], "portable");
  EXPECT_EQ(document["cpu"]["isa"], document["cpu"]["isa_tiers"].back());
  EXPECT_GE(document["devices"].size(), 11U);
  EXPECT_GE(document["models"].size(), 40U);
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
