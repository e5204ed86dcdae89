#include <gtest/gtest.h>

#include "cli/run_tool.hpp"
#include "support/temporary_directory.hpp"

namespace tilewright::testing {
namespace {

constexpr const char* kConfig = R"({
  "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_act": "silu", "hidden_size": 512,
  "moe_intermediate_size": 256, "num_experts": 16, "num_experts_per_tok": 4, "num_hidden_layers": 1,
  "norm_topk_prob": true, "decoder_sparse_step": 1, "mlp_only_layers": []
})";

TEST(Bench, MeasuresTheLayerAndTheMachineInJson) {
  const TemporaryDirectory folder;
  const std::string config = folder.write("config.json", kConfig);
  const ToolRun run = tilewright("bench --backend cpu --model " + config +
                                 " --tokens 1,8 --precision w4a16,w4a4 --seconds 0.02 --format json");
  ASSERT_EQ(run.exit, 0) << run.err;
  EXPECT_TRUE(run.err.empty()) << run.err;
  const auto document = run.json();
  EXPECT_EQ(document["schema"], "tilewright.bench/1");
  EXPECT_GT(document["context"]["read_GBps"], 0.0);
  ASSERT_EQ(document["results"].size(), 4U);
  for (const auto& result : document["results"]) {
    for (const char* field : {"us", "weight_GBps", "tflops", "bound_share"}) EXPECT_GT(result[field], 0.0) << field;
    EXPECT_EQ(result["rows"].get<int>(), 4 * result["tokens"].get<int>());
    // One token's four experts of 3 * 512 * 256 weights at 9 bits; balanced eight tokens reach all sixteen.
    const int active = result["tokens"] == 1 ? 4 : 16;
    EXPECT_EQ(result["weight_bytes"], active * 3 * 512 * 256 * 9 / 16);
    EXPECT_TRUE(result["bound"] == "read" || result["bound"] == "dot");
  }
}

TEST(Bench, MistakesAreOneLine) {
  for (const std::string arguments :
       {"bench", "bench --model no-such-model", "bench --model qwen3-30b-a3b --tokens 0",
        "bench --model qwen3-30b-a3b --backend abacus", "bench --model qwen3-30b-a3b --ep 1000",
        "bench --model qwen3-30b-a3b --spread odd"}) {
    const ToolRun run = tilewright(arguments);
    EXPECT_NE(run.exit, 0) << arguments;
    EXPECT_EQ(run.error_lines(), 1) << arguments << "\n" << run.err;
    EXPECT_TRUE(run.out.empty()) << arguments;
  }
}

TEST(Bench, OptionsOfTheOtherBackendAreUsageErrors) {
  for (const std::string arguments :
       {"--graph", "--local", "--backend cuda --isa avx2", "--backend cuda --threads 2"}) {
    const ToolRun run = tilewright("bench --model qwen3-30b-a3b --tokens 1 " + arguments);
    EXPECT_EQ(run.exit, 2) << arguments;
    EXPECT_EQ(run.error_lines(), 1) << arguments << "\n" << run.err;
  }
}

TEST(Bench, W4a4OnAnSm90GpuAsksForTheMmaEmulated) {
  const ToolRun run = tilewright("bench --model qwen3-30b-a3b --backend cuda --arch sm_90 --precision w4a4");
  EXPECT_EQ(run.exit, 4);
  EXPECT_EQ(run.error_lines(), 1) << run.err;
  if (!cuda_runs_here()) GTEST_SKIP() << "no GPU to ask for it; the rest is tested";
  EXPECT_NE(run.err.find("--emulate-mma"), std::string::npos) << run.err;
}

TEST(Bench, TheCpuHasNoArchitecturesOfGpus) {
  const ToolRun run = tilewright("bench --model qwen3-30b-a3b --arch sm_120 --tokens 1");
  EXPECT_EQ(run.exit, 2);
  EXPECT_NE(run.err.find("arch sm_120"), std::string::npos) << run.err;
}

TEST(Bench, WithoutAGpuTheReasonIsOneLine) {
  if (cuda_runs_here()) GTEST_SKIP() << "there is a GPU";
  const ToolRun run = tilewright("bench --backend cuda --graph --local --model glm-5 --ep 8 --tokens 1");
  EXPECT_EQ(run.exit, 4);
  EXPECT_EQ(run.error_lines(), 1) << run.err;
  EXPECT_TRUE(run.out.empty());
}

TEST(Bench, OnAGpuMeasuresTheLayerAndTheDeviceInJson) {
  if (!cuda_runs_here()) GTEST_SKIP() << "no GPU that the kernels are built for";
  const TemporaryDirectory folder;
  const std::string config = folder.write("config.json", kConfig);
  for (const std::string graph : {"", "--graph"}) {
    const ToolRun run = tilewright("bench --backend cuda --format json --tokens 1,64 --model " + config + " " + graph);
    ASSERT_EQ(run.exit, 0) << run.err;
    const auto document = run.json();
    for (const char* field : {"read_GBps", "matrix_tflops"}) EXPECT_GT(document["context"][field], 0.0) << field;
    ASSERT_EQ(document["results"].size(), 2U);
    for (const auto& result : document["results"]) {
      EXPECT_EQ(result["rows"], 4.0 * result["tokens"].get<int>());
      EXPECT_GE(result["layers"], 4);
      EXPECT_GT(result["share"], 0.0);
      EXPECT_LT(result["share"], 1.05);
      EXPECT_FALSE(result["gemm1"].get<std::string>().empty());
    }
  }
}

TEST(Bench, SkewedAndSingleTokensAlsoReachTheCpu) {
  const TemporaryDirectory folder;
  const std::string config = folder.write("config.json", kConfig);
  for (const std::string spread : {"skewed", "single"}) {
    const auto document =
        tilewright("bench --tokens 9 --seconds 0.02 --format json --model " + config + " --spread " + spread).json();
    EXPECT_EQ(document["context"]["spread"], spread);
    EXPECT_EQ(document["results"][0]["rows"], 4 * 9);
    EXPECT_EQ(document["results"][0]["active_experts"] == 4, spread == "single");
  }
}

}  // namespace
}  // namespace tilewright::testing
