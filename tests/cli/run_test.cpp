// tilewright run: a layer of a checkpoint, checked.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "cli/run_tool.hpp"
#include "support/temporary_directory.hpp"
#include "tilewright/safetensors.hpp"

namespace tilewright::testing {
namespace {

constexpr const char* kConfig = R"({
  "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_act": "silu", "hidden_size": 256,
  "moe_intermediate_size": 96, "num_experts": 8, "num_experts_per_tok": 2, "num_hidden_layers": 1,
  "norm_topk_prob": true, "decoder_sparse_step": 1, "mlp_only_layers": []
})";

class Run : public ::testing::Test {
 protected:
  void SetUp() override {
    checkpoint_ = folder_.file("nvfp4");
    const std::string config = folder_.write("small.json", kConfig);
    ASSERT_EQ(tilewright("quantize --synthetic " + config + " --output " + checkpoint_).exit, 0);
  }

  [[nodiscard]] std::string command(const std::string& arguments) const {
    return "run --checkpoint " + checkpoint_ + " --seconds 0.01 " + arguments;
  }

  TemporaryDirectory folder_;
  std::string checkpoint_;
};

TEST_F(Run, VerifiesALayerAgainstTheReferenceInJson) {
  const ToolRun run =
      tilewright(command("--layer 0 --tokens 64 --backend cpu --precision w4a16 --verify --format json"));
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_TRUE(run.err.empty()) << run.err;
  const auto document = run.json();
  EXPECT_EQ(document["schema"], "tilewright.run/1");
  EXPECT_EQ(document["verified"], true);
  EXPECT_LE(document["max_rel_err"], document["tolerance"]);
  EXPECT_GT(document["us"], 0.0);
  EXPECT_GT(document["weight_GBps"], 0.0);
  EXPECT_GT(document["bound_share"], 0.0);
  EXPECT_EQ(document["rows"], 64 * 2);
}

TEST_F(Run, ListsMultiplyOutAndEveryRowIsVerified) {
  const auto document = tilewright(command("--tokens 0,1,9 --precision w4a16,w4a4 --verify --format json")).json();
  ASSERT_EQ(document["results"].size(), 6U);
  for (const auto& row : document["results"]) EXPECT_EQ(row["verified"], true) << row;
  EXPECT_EQ(document["verified"], true);
}

TEST_F(Run, RanksOfASplitRunTheirSlices) {
  EXPECT_EQ(tilewright(command("--tokens 5 --tp 2 --tp-rank 1 --verify")).exit, 0);
  EXPECT_EQ(tilewright(command("--tokens 5 --ep 3 --ep-rank 2 --verify")).exit, 0);
  const ToolRun cut = tilewright(command("--tokens 5 --tp 4"));  // 96 / 4 = 24 is no whole number of 16-blocks
  EXPECT_EQ(cut.error_lines(), 1) << cut.err;
  EXPECT_NE(cut.err.find("96"), std::string::npos) << cut.err;
  EXPECT_EQ(tilewright(command("--tokens 5 --tp 4 --tp-rank 3 --pad --verify")).exit, 0);
}

std::span<const std::uint8_t> bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const std::uint8_t*>(values.data()), values.size() * sizeof(float)};
}

TEST_F(Run, ReadsAnInputFileAndWritesItsOutput) {
  const std::vector<float> x(2 * 256, 1.0F);
  const std::vector<std::int32_t> ids = {0, -1, -1, -1};
  const std::vector<float> weights(4, 1.0F);
  const std::span<const std::uint8_t> id_bytes(reinterpret_cast<const std::uint8_t*>(ids.data()), 16);
  const std::string input = folder_.file("x.safetensors");
  ASSERT_TRUE(write_safetensors(input, {{"x", DType::f32, {2, 256}, bytes_of(x)},
                                        {"topk_ids", DType::i32, {2, 2}, id_bytes},
                                        {"topk_weights", DType::f32, {2, 2}, bytes_of(weights)}}));
  const std::string output = folder_.file("y.safetensors");
  const ToolRun run = tilewright(command("--input " + input + " --output " + output + " --verify --format json"));
  ASSERT_EQ(run.exit, 0) << run.err;
  EXPECT_EQ(run.json()["tokens"], 2);
  EXPECT_EQ(run.json()["rows"], 1);
  const auto files = TensorFiles::open(output);
  ASSERT_TRUE(files);
  const TensorView* y = files->find("y");
  ASSERT_NE(y, nullptr);
  ASSERT_EQ(y->shape, std::vector<std::int64_t>({2, 256}));
  std::vector<float> values(512);
  std::memcpy(values.data(), y->bytes.data(), y->bytes.size());
  EXPECT_NE(values[0], 0.0F);
  for (std::size_t i = 256; i < 512; ++i) ASSERT_EQ(values[i], 0.0F);  // the token whose slots are all ignored
}

TEST_F(Run, AnInputOfTheWrongWidthNamesBoth) {
  const std::string input = folder_.file("x.safetensors");
  const std::vector<float> x(128, 1.0F);
  ASSERT_TRUE(write_safetensors(input, {{"x", DType::f32, {1, 128}, bytes_of(x)}}));
  const ToolRun run = tilewright(command("--input " + input));
  EXPECT_EQ(run.exit, 1);
  EXPECT_EQ(run.error_lines(), 1) << run.err;
  EXPECT_NE(run.err.find("[1, 128]"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("256"), std::string::npos) << run.err;
}

TEST_F(Run, WhatIsNotPossibleHereSaysSo) {
  const ToolRun w4a4 = tilewright(command("--backend cuda --precision w4a4"));
  EXPECT_EQ(w4a4.exit, 4);
  EXPECT_EQ(w4a4.error_lines(), 1) << w4a4.err;
  EXPECT_EQ(tilewright(command("--backend cuda --threads 2")).exit, 2);
  EXPECT_EQ(tilewright(command("--backend abacus")).exit, 2);
  EXPECT_EQ(tilewright(command("--isa sse9")).exit, 2);
  EXPECT_EQ(tilewright(command("--layer 3")).exit, 1);
  EXPECT_EQ(tilewright("run").exit, 2);
}

TEST_F(Run, OnAGpuTheLayerIsVerifiedAndTimedOrTheReasonSaid) {
  const ToolRun run = tilewright(command("--backend cuda --tokens 0,1,64 --verify --format json"));
  if (!cuda_runs_here()) {
    EXPECT_EQ(run.exit, 4);
    EXPECT_EQ(run.error_lines(), 1) << run.err;
    return;
  }
  EXPECT_EQ(run.exit, 0) << run.err;
  const auto document = run.json();
  EXPECT_EQ(document["verified"], true);
  EXPECT_TRUE(document.contains("device"));
  for (const auto& row : document["results"]) {
    EXPECT_FALSE(row["gemm1"].get<std::string>().empty());
    EXPECT_EQ(row["us"] > 0.0, row["tokens"] > 0);
  }
}

TEST_F(Run, ACheckpointWithoutAConfigAsksForAModel) {
  ASSERT_EQ(std::remove((checkpoint_ + "/config.json").c_str()), 0);
  const ToolRun without = tilewright(command("--tokens 2"));
  EXPECT_EQ(without.exit, 1);
  EXPECT_NE(without.err.find("--model"), std::string::npos) << without.err;
  const std::string config = folder_.write("facts.json", kConfig);
  EXPECT_EQ(tilewright(command("--tokens 2 --verify --model " + config)).exit, 0);
}

}  // namespace
}  // namespace tilewright::testing
