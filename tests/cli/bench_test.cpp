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
        "bench --model qwen3-30b-a3b --backend cuda", "bench --model qwen3-30b-a3b --ep 1000",
        "bench --model qwen3-30b-a3b --spread odd"}) {
    const ToolRun run = tilewright(arguments);
    EXPECT_NE(run.exit, 0) << arguments;
    EXPECT_EQ(run.error_lines(), 1) << arguments << "\n" << run.err;
    EXPECT_TRUE(run.out.empty()) << arguments;
  }
}

}  // namespace
}  // namespace tilewright::testing
