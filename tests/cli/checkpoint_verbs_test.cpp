// tilewright quantize and inspect.
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "cli/run_tool.hpp"
#include "support/temporary_directory.hpp"
#include "tilewright/safetensors.hpp"

namespace tilewright::testing {
namespace {

// A small model: 8 experts of 128 x 64, top-2.
constexpr const char* kConfig = R"({
  "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_act": "silu", "hidden_size": 128,
  "moe_intermediate_size": 64, "num_experts": 8, "num_experts_per_tok": 2, "num_hidden_layers": 2,
  "norm_topk_prob": true, "decoder_sparse_step": 1, "mlp_only_layers": []
})";

class CheckpointVerbs : public ::testing::Test {
 protected:
  /// A synthetic checkpoint of two layers.
  std::string synthetic() {
    const std::string config = folder_.write("small.json", kConfig);
    const std::string path = folder_.file("nvfp4");
    const ToolRun run = tilewright("quantize --synthetic " + config + " --layers 2 --output " + path);
    EXPECT_EQ(run.exit, 0) << run.err;
    return path;
  }

  TemporaryDirectory folder_;
};

TEST_F(CheckpointVerbs, ASyntheticCheckpointIsInspectedLayerByLayer) {
  const ToolRun run = tilewright("inspect " + synthetic() + " --format json");
  EXPECT_EQ(run.exit, 0) << run.err;
  const auto document = run.json();
  EXPECT_EQ(document["schema"], "tilewright.inspect/1");
  ASSERT_EQ(document["layers"].size(), 2U);
  for (const auto& layer : document["layers"]) {
    EXPECT_EQ(layer["format"], "NVFP4");
    EXPECT_EQ(layer["experts"], 8);
    EXPECT_EQ(layer["hidden"], 128);
    EXPECT_EQ(layer["intermediate"], 64);
    EXPECT_EQ(layer["weights"], 8 * 3 * 128 * 64);
    EXPECT_EQ(layer["gate_up"]["mismatched"], 0);
    EXPECT_TRUE(layer["error"].is_null());
    std::int64_t blocks = 0;
    for (const auto& bin : layer["scale_histogram"]) blocks += bin["count"].get<std::int64_t>();
    EXPECT_EQ(blocks, layer["scale_bytes"].get<std::int64_t>());
  }
}

TEST_F(CheckpointVerbs, InspectTextNamesFormatShapesAndFindings) {
  const ToolRun run = tilewright("inspect " + synthetic() + " --layers 1");
  EXPECT_EQ(run.exit, 0) << run.err;
  for (const char* word :
       {"Layer 1", "NVFP4, modelopt", "8 gated, hidden 128, inner 64", "Block scales by size", "Nothing suspicious"}) {
    EXPECT_NE(run.out.find(word), std::string::npos) << word << " in\n" << run.out;
  }
  EXPECT_EQ(run.out.find("Layer 0"), std::string::npos);
}

TEST_F(CheckpointVerbs, InspectTellsOfGateAndUpScalesThatDiffer) {
  const std::string config = folder_.write("small.json", kConfig);
  const std::string path = folder_.file("separate");
  ASSERT_EQ(tilewright("quantize --synthetic " + config + " --separate-gate-up --output " + path).exit, 0);
  const auto layer = tilewright("inspect " + path + " --format json").json()["layers"][0];
  EXPECT_EQ(layer["gate_up"]["pairs"], 8);
  EXPECT_GT(layer["gate_up"]["mismatched"], 0);
  EXPECT_EQ(layer["findings"][0]["code"], "gate_up_scale_mismatch");
}

// Two experts of one layer in fp32, as a trained checkpoint has them.
std::string write_experts(const TemporaryDirectory& folder) {
  std::vector<float> values(64 * 32);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 97) / 97.0F - 0.5F;
  const std::span<const std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(values.data()), values.size() * 4);
  std::vector<TensorData> tensors;
  for (const std::string expert : {"0", "1"}) {
    const std::string prefix = "model.layers.0.mlp.experts." + expert;
    tensors.push_back({prefix + ".gate_proj.weight", DType::f32, {32, 64}, bytes});
    tensors.push_back({prefix + ".up_proj.weight", DType::f32, {32, 64}, bytes});
    tensors.push_back({prefix + ".down_proj.weight", DType::f32, {64, 32}, bytes});
  }
  const std::string path = folder.file("experts.safetensors");
  EXPECT_TRUE(write_safetensors(path, tensors));
  return path;
}

TEST_F(CheckpointVerbs, TrainedWeightsAreQuantizedAndFourOverSixIsNoWorse) {
  const std::string source = write_experts(folder_);
  const auto amax = tilewright("quantize " + source + " --output " + folder_.file("amax") + " --format json").json();
  const auto four_over_six =
      tilewright("quantize " + source + " --scales four_over_six --output " + folder_.file("fos") + " --format json")
          .json();
  EXPECT_EQ(amax["schema"], "tilewright.quantize/1");
  EXPECT_EQ(amax["matrices"].size(), 6U);
  // A uniform block under e2m1 keeps about 20 dB; 15 would be a broken scale.
  EXPECT_GT(amax["snr_db"], 15.0);
  EXPECT_GE(four_over_six["snr_db"].get<double>(), amax["snr_db"].get<double>());
}

TEST_F(CheckpointVerbs, CompressedTensorsAreWrittenAndReadBack) {
  const std::string path = folder_.file("ct");
  ASSERT_EQ(tilewright("quantize " + write_experts(folder_) + " --dialect compressed-tensors --output " + path).exit,
            0);
  EXPECT_EQ(tilewright("inspect " + path + " --format json").json()["layers"][0]["dialect"], "compressed-tensors");
}

TEST_F(CheckpointVerbs, TheSameSeedGivesTheSameBytes) {
  const std::string config = folder_.write("small.json", kConfig);
  for (const std::string name : {"a", "b"}) {
    ASSERT_EQ(tilewright("quantize --synthetic " + config + " --seed 7 --output " + folder_.file(name)).exit, 0);
  }
  EXPECT_EQ(std::system(
                ("cmp -s " + folder_.file("a/model.safetensors") + " " + folder_.file("b/model.safetensors")).c_str()),
            0);
}

TEST_F(CheckpointVerbs, MistakesAreOneLineAndLeaveNothingBehind) {
  const std::string source = write_experts(folder_);
  const std::string output = folder_.file("never");
  const std::vector<std::string> mistakes = {
      "quantize " + source,
      "quantize --output " + output,
      "quantize " + source + " --output " + output + " --scales best",
      "quantize " + source + " --output " + output + " --dialect gguf",
      "quantize no/such/file --output " + output,
      "quantize --synthetic no-such-model --output " + output,
      "inspect no/such/folder",
      "inspect " + source + " --layers 7",
  };
  for (const std::string& arguments : mistakes) {
    const ToolRun run = tilewright(arguments);
    EXPECT_NE(run.exit, 0) << arguments;
    EXPECT_EQ(run.error_lines(), 1) << arguments << "\n" << run.err;
    EXPECT_TRUE(run.out.empty()) << arguments << "\n" << run.out;
    EXPECT_FALSE(std::filesystem::exists(output)) << arguments;
  }
}

TEST_F(CheckpointVerbs, ACorruptFileIsOneLineThatNamesIt) {
  const std::string path = folder_.write("broken.safetensors", std::string("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F{}", 10));
  const ToolRun run = tilewright("inspect " + path);
  EXPECT_EQ(run.exit, 1);
  EXPECT_EQ(run.error_lines(), 1) << run.err;
  EXPECT_NE(run.err.find("broken.safetensors"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace tilewright::testing
