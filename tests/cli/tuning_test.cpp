// tune, regret and calibrate, and what plan, run and bench do with a tuning cache.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/run_tool.hpp"
#include "support/temporary_directory.hpp"
#include "tilewright/model.hpp"
#include "tune/tuning_fixture.hpp"

namespace tilewright::testing {
namespace {

constexpr const char* kPlan = "plan --device h200 --model glm-5 --ep 8 --tokens 64";

/// A cache in which the model's third candidate is the fastest for GEMM1.
std::string write_cache(const TemporaryDirectory& folder, const std::string& version) {
  LayerProblem layer;
  layer.model = find_model("glm-5").value();
  layer.ep = 8;
  layer.tokens = 64;
  TuningEntry entry = tune::entry_of(layer_gemms(layer)->gemm1, {150, 160, 120});
  entry.on.version = version;
  TuningCache cache;
  cache.add(entry);
  return folder.write("tuning.json", cache.text());
}

TEST(TuningCacheOfPlan, TakesTheMeasuredChoiceAndSaysWhatTheModelsWas) {
  const TemporaryDirectory folder;
  const std::string cache = write_cache(folder, TILEWRIGHT_VERSION);
  const auto model = tilewright(std::string(kPlan) + " --format json").json();
  const ToolRun run = tilewright(std::string(kPlan) + " --format json --cache " + cache);
  ASSERT_EQ(run.exit, 0) << run.err;
  EXPECT_TRUE(run.err.empty()) << run.err;
  const auto plan = run.json()["plans"][0];
  EXPECT_EQ(plan["tuned"]["us"], 120.0);
  EXPECT_EQ(plan["tuned"]["model_us"], 150.0);
  EXPECT_EQ(plan["tuned"]["model_choice"], model["plans"][0]["chosen"]["schedule"]);
  EXPECT_NE(plan["chosen"]["schedule"], model["plans"][0]["chosen"]["schedule"]);
  EXPECT_FALSE(run.json()["plans"][1].contains("tuned"));
  for (const std::string format : {"text", "md", "html"}) {
    const ToolRun told = tilewright(fmt::format("{} --cache {} --format {}", kPlan, cache, format));
    EXPECT_NE(told.out.find("NVIDIA H200, driver 580.65.06"), std::string::npos) << format;
    const bool says = told.out.find("model's choice is") != std::string::npos ||
                      told.out.find("model&#39;s choice is") != std::string::npos;
    EXPECT_TRUE(says) << format;
  }
  EXPECT_NE(tilewright(std::string(kPlan) + " --format csv --cache " + cache).out.find(",120.000\n"),
            std::string::npos);
}

TEST(TuningCacheOfPlan, IsReadFromItsFolderUnlessItIsNotWanted) {
  const TemporaryDirectory folder;
  write_cache(folder, TILEWRIGHT_VERSION);
  const std::string command = "TILEWRIGHT_CACHE_DIR=" + folder.path().string() + " " + TILEWRIGHT_TOOL + " " + kPlan;
  const auto says_tuned = [&](const std::string& more) {
    return std::system((command + more + " | grep -q ' tuned '").c_str()) == 0;
  };
  EXPECT_TRUE(says_tuned(""));
  EXPECT_FALSE(says_tuned(" --no-cache"));
}

TEST(TuningCacheOfPlan, RefusesStaleEntriesWithTheReasonAndPlansAllTheSame) {
  const TemporaryDirectory folder;
  const std::string cache = write_cache(folder, "0.0.1");
  const ToolRun run = tilewright(std::string(kPlan) + " --format json --cache " + cache);
  EXPECT_EQ(run.exit, 0);
  EXPECT_EQ(run.error_lines(), 1) << run.err;
  EXPECT_NE(run.err.find("tuned with tilewright 0.0.1"), std::string::npos) << run.err;
  EXPECT_FALSE(run.json()["plans"][0].contains("tuned"));
}

TEST(TuningCacheOfPlan, SaysWhatIsWrongWithAFileThatWasNamed) {
  const TemporaryDirectory folder;
  for (const std::string& file : {folder.file("absent.json"), folder.write("broken.json", "{\"schema\": 1}")}) {
    const ToolRun run = tilewright(std::string(kPlan) + " --cache " + file);
    EXPECT_EQ(run.exit, 1) << file;
    EXPECT_EQ(run.error_lines(), 1) << run.err;
    EXPECT_NE(run.err.find(file), std::string::npos) << run.err;
  }
}

TEST(Tuning, EveryVerbThatUsesTheCacheSaysHowToNameIt) {
  for (const std::string verb : {"tune", "plan", "run", "bench"}) {
    const std::string help = tilewright(verb + " --help").out;
    EXPECT_NE(help.find("--cache FILE"), std::string::npos) << verb;
    EXPECT_EQ(help.find("--no-cache") != std::string::npos, verb != "tune") << verb;
  }
}

TEST(Tuning, MistakesAreUsageErrorsInOneLine) {
  for (const std::string arguments :
       {"tune", "tune --model glm-5 --device h200", "tune --model glm-5 --budget 0", "regret --device h200",
        "regret --replay a.json --record b.json", "calibrate --device cpu", "calibrate --format html",
        "tune --model glm-5 --format html"}) {
    const ToolRun run = tilewright(arguments);
    EXPECT_EQ(run.exit, 2) << arguments;
    EXPECT_EQ(run.error_lines(), 1) << arguments << "\n" << run.err;
    EXPECT_TRUE(run.out.empty()) << arguments;
  }
  EXPECT_EQ(tilewright("regret --model gpt-2").exit, 1);
}

// bench/results/h200/regret.json is what the tool prints; docs/tuning.md says how it is written anew.
TEST(Tuning, TheCommittedRegretReportIsWhatReplayingTheMeasurementsGives) {
  const std::string results = TILEWRIGHT_SOURCE_DIR "/bench/results/h200/";
  const ToolRun run = tilewright("regret --replay " + results + "regret-trials.json --format json");
  ASSERT_EQ(run.exit, 0) << run.err;
  const auto printed = nlohmann::json::parse(run.out);
  std::ifstream file(results + "regret.json");
  const auto committed = nlohmann::json::parse(file);
  for (const char* half : {"held_out", "fitting"}) EXPECT_EQ(printed[half], committed[half]) << half;
  EXPECT_EQ(printed["held_out"]["shapes"], 540);
  EXPECT_EQ(printed["version"], "0.1.0");
  EXPECT_EQ(printed["predicted_by"], TILEWRIGHT_VERSION);
  EXPECT_EQ(printed["replayed"], true);

  const ToolRun text = tilewright("regret --model glm-5 --replay " + results + "regret-trials.json");
  EXPECT_EQ(text.exit, 0);
  EXPECT_NE(text.out.find("180 of 180 problems"), std::string::npos);
  EXPECT_EQ(tilewright("regret --replay no-such-file.json").exit, 1);
}

TEST(Tuning, WithoutAGpuTheReasonIsOneLine) {
  if (cuda_runs_here()) GTEST_SKIP() << "there is a GPU";
  const TemporaryDirectory folder;
  const std::string out = folder.file("answer.json");
  for (const std::string arguments : {"tune --model glm-5 --ep 8", "tune --ban 256x8x256", "regret", "calibrate",
                                      "plan --device cuda --model glm-5 --tokens 1"}) {
    const ToolRun run = tilewright(arguments);
    EXPECT_EQ(run.exit, 4) << arguments;
    EXPECT_EQ(run.error_lines(), 1) << arguments << "\n" << run.err;
  }
  EXPECT_EQ(tilewright("regret --out " + out).exit, 4);
  EXPECT_FALSE(std::filesystem::exists(out));
}

constexpr const char* kConfig = R"({
  "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_act": "silu", "hidden_size": 512,
  "moe_intermediate_size": 256, "num_experts": 16, "num_experts_per_tok": 4, "num_hidden_layers": 1,
  "norm_topk_prob": true, "decoder_sparse_step": 1, "mlp_only_layers": []
})";

TEST(Tuning, OnAGpuFillsTheCacheThatBenchAndPlanRead) {
  if (!cuda_runs_here()) GTEST_SKIP() << "no GPU that the kernels are built for";
  const TemporaryDirectory folder;
  const std::string config = folder.write("config.json", kConfig);
  const std::string cache = " --cache " + folder.file("tuning.json");
  const ToolRun run = tilewright("tune --model " + config + " --tokens 1,64 --budget 10 --format json" + cache);
  ASSERT_EQ(run.exit, 0) << run.err;
  const auto document = run.json();
  EXPECT_EQ(document["schema"], "tilewright.tune/1");
  EXPECT_TRUE(document["errors"].empty());
  ASSERT_EQ(document["results"].size(), 4U);
  for (const auto& result : document["results"]) {
    EXPECT_GT(result["chosen"]["us"], 0.0);
    EXPECT_LE(result["chosen"]["us"].get<double>(), 1.05 * result["default"]["us"].get<double>());
  }
  const auto bench = tilewright("bench --backend cuda --tokens 1,64 --format json --model " + config + cache).json();
  for (const auto& result : bench["results"]) EXPECT_EQ(result["tuned"], true);
  const auto plan = tilewright("plan --device cuda --tokens 64 --format json --model " + config + cache).json();
  EXPECT_TRUE(plan["plans"][0].contains("tuned"));
}

TEST(Tuning, OnAGpuCalibratesEveryConstant) {
  if (!cuda_runs_here()) GTEST_SKIP() << "no GPU that the kernels are built for";
  const auto document = tilewright("calibrate --format json").json();
  EXPECT_EQ(document["schema"], "tilewright.calibrate/1");
  for (const auto& constant : document["constants"]) EXPECT_GT(constant["measured"], 0.0) << constant["name"];
}

}  // namespace
}  // namespace tilewright::testing
