// What a broken or foreign checkpoint says: layer, expert, tensor, value and remedy.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "checkpoint/layer_fixture.hpp"
#include "support/temporary_directory.hpp"

namespace tilewright::testing {
namespace {

const std::string kExperts = "model.layers.5.mlp.experts";
const std::string kGate = kExperts + ".1.gate_proj";

class Refusals : public ::testing::Test {
 protected:
  Refusals() { add_single(set_, layer_, kExperts, Dialect::modelopt); }

  void use_compressed_tensors() {
    set_ = TensorSet();
    add_single(set_, layer_, kExperts, Dialect::compressed_tensors);
  }

  Result<ExpertWeights> load() {
    const Status written = write_safetensors(directory_.file("model.safetensors"), set_.tensors());
    if (!written) throw std::runtime_error(written.error().message());
    TILEWRIGHT_ASSIGN(const Checkpoint checkpoint, Checkpoint::open(directory_.path().string()));
    findings_.clear();
    return checkpoint.load_layer(5, {}, &findings_);
  }

  void expect_error(ErrorCode code, const std::vector<std::string>& parts) {
    const auto weights = load();
    ASSERT_FALSE(weights);
    const std::string message = weights.error().message();
    EXPECT_EQ(weights.error().code, code) << message;
    for (const std::string& part : parts)
      EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_FALSE(weights.error().remedy.empty()) << message;
  }

  void expect_finding(const std::string& code, const std::vector<std::string>& parts) {
    const auto weights = load();
    ASSERT_TRUE(weights) << weights.error().message();
    ASSERT_EQ(findings_.size(), 1U);
    EXPECT_EQ(findings_[0].code, code);
    for (const std::string& part : parts) {
      EXPECT_NE(findings_[0].message.find(part), std::string::npos) << part << " in: " << findings_[0].message;
    }
  }

  LayerBytes layer_ = random_layer(3, 64, 32, true, 11);
  TensorSet set_;
  TemporaryDirectory directory_;
  std::vector<Finding> findings_;
};

TEST_F(Refusals, NamesAMissingTensor) {
  for (const char* role : {".weight_scale", ".weight_scale_2"}) {
    TensorSet whole = set_;
    set_.remove(kGate + role);
    expect_error(ErrorCode::not_found,
                 {"layer 5", "expert 1", "gate_proj", kGate + ".weight", std::string(role).substr(1)});
    set_ = whole;
  }
  set_.remove(kGate + ".weight");
  expect_error(ErrorCode::not_found, {"layer 5", "expert 1", "gate_proj", "weight"});
}

TEST_F(Refusals, NamesAMissingProjection) {
  for (const char* role : {".weight", ".weight_scale", ".weight_scale_2", ".input_scale"}) set_.remove(kGate + role);
  expect_error(ErrorCode::not_found, {"layer 5", "expert 1", "gate_proj"});
}

TEST_F(Refusals, NamesAnExpertMissingInTheMiddle) {
  for (const char* projection : {".gate_proj", ".up_proj", ".down_proj"}) {
    for (const char* role : {".weight", ".weight_scale", ".weight_scale_2", ".input_scale"}) {
      set_.remove(kExperts + ".1" + projection + role);
    }
  }
  expect_error(ErrorCode::not_found, {"layer 5", "expert 1 of 3"});
}

TEST_F(Refusals, NamesAnExpertCountThatDiffersFromTheConfig) {
  static_cast<void>(directory_.write("config.json", R"({"model_type": "qwen3_moe", "hidden_size": 64,
      "moe_intermediate_size": 32, "num_experts": 4, "num_experts_per_tok": 2, "num_hidden_layers": 6})"));
  expect_error(ErrorCode::mismatch, {"layer 5", "3 experts", "config.json says 4"});
}

TEST_F(Refusals, NamesSizesThatDifferFromTheConfig) {
  static_cast<void>(directory_.write("config.json", R"({"model_type": "qwen3_moe", "hidden_size": 128,
      "moe_intermediate_size": 32, "num_experts": 3, "num_experts_per_tok": 2, "num_hidden_layers": 6})"));
  expect_error(ErrorCode::mismatch, {"layer 5", "64 x 32", "hidden 128", "intermediate 32"});
}

TEST_F(Refusals, NamesTheConfigThatLacksAGate) {
  static_cast<void>(directory_.write("config.json", R"({"model_type": "nemotron_h", "hidden_size": 64,
      "moe_intermediate_size": 32, "n_routed_experts": 3, "num_experts_per_tok": 2, "mlp_hidden_act": "relu2"})"));
  expect_error(ErrorCode::mismatch, {"layer 5", "without a gate"});
}

TEST_F(Refusals, NamesAGlobalScaleThatIsNoPositiveNumber) {
  const TensorSet whole = set_;
  for (const float value :
       {0.0F, -1e-4F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    set_ = whole;
    set_.set_float(kGate + ".weight_scale_2", value);
    expect_error(ErrorCode::corrupt, {"layer 5", "expert 1", kGate + ".weight_scale_2"});
  }
}

TEST_F(Refusals, NamesAReciprocalGlobalScaleUnderTheOtherDialectsName) {
  set_.set_float(kGate + ".weight_scale_2", 3584.0F);  // 2688 / 0.75
  expect_error(ErrorCode::mismatch, {"layer 5", "expert 1", kGate + ".weight_scale_2", "3584", "weight_global_scale"});
  use_compressed_tensors();
  set_.set_float(kGate + ".weight_global_scale", 2.79e-4F);
  expect_error(ErrorCode::mismatch, {"layer 5", "expert 1", kGate + ".weight_global_scale", "weight_scale_2"});
}

TEST_F(Refusals, FindsAGlobalScaleThatIsOnlyUnlikely) {
  layer_.experts[1].gate.global_scale = layer_.experts[1].up.global_scale = 1.0F;  // GLM-4.7-Flash has these
  set_.set_float(kGate + ".weight_scale_2", 1.0F);
  set_.set_float(kExperts + ".1.up_proj.weight_scale_2", 1.0F);
  const auto weights = load();
  ASSERT_TRUE(weights) << weights.error().message();
  EXPECT_TRUE(findings_.empty());
  set_.set_float(kExperts + ".2.down_proj.weight_scale_2", 2.0F);
  expect_finding("global_scale_odd", {"layer 5", "expert 2", "down_proj", "2"});
}

TEST_F(Refusals, NamesRowAndBlockOfANanScale) {
  set_.change(kGate + ".weight_scale", [](auto& bytes) { bytes[4 * 7 + 3] = 0x7F; });  // 64 / 16 = 4 blocks a row
  expect_error(ErrorCode::corrupt, {"layer 5", "expert 1", "gate_proj", "row 7", "block 3", "0x7F", "NaN"});
}

TEST_F(Refusals, NamesAScaleWithItsSignBitSet) {
  set_.change(kExperts + ".2.down_proj.weight_scale", [](auto& bytes) { bytes[2 * 63 + 1] = 0xB8; });
  expect_error(ErrorCode::corrupt, {"layer 5", "expert 2", "down_proj", "row 63", "block 1", "0xB8", "sign"});
}

TEST_F(Refusals, ReadsANegativeZeroScaleWithAFinding) {
  set_.change(kGate + ".weight_scale", [](auto& bytes) { bytes[0] = bytes[5] = 0x80; });
  expect_finding("negative_zero_scale", {"layer 5", "expert 1", "gate_proj", "2 block scales"});
}

TEST_F(Refusals, NamesADtypeThatNvfp4DoesNotHave) {
  const TensorSet whole = set_;
  set_.set(kGate + ".weight_scale", DType::f8_e5m2, {32, 4}, std::vector<std::uint8_t>(128, 0x38));
  expect_error(ErrorCode::mismatch, {"layer 5", "expert 1", kGate + ".weight_scale", "F8_E5M2", "F8_E4M3"});
  set_ = whole;
  set_.set(kGate + ".weight_scale_2", DType::bf16, {}, {0x80, 0x3F});
  expect_error(ErrorCode::mismatch, {"layer 5", "expert 1", kGate + ".weight_scale_2", "BF16", "F32"});
}

TEST_F(Refusals, NamesRowsThatDoNotMatch) {
  set_.set(kGate + ".weight_scale", DType::f8_e4m3, {31, 4}, std::vector<std::uint8_t>(124, 0x38));
  expect_error(ErrorCode::mismatch, {"layer 5", "expert 1", kGate, "32 rows", "31"});
}

TEST_F(Refusals, NamesAnotherBlockSize) {
  set_.set(kGate + ".weight_scale", DType::f8_e4m3, {32, 2}, std::vector<std::uint8_t>(64, 0x38));
  expect_error(ErrorCode::unsupported, {"layer 5", "expert 1", "one scale for 32 weights", "16"});
  set_.set(kGate + ".weight_scale", DType::f8_e4m3, {32, 1}, std::vector<std::uint8_t>(32, 0x38));
  expect_error(ErrorCode::unsupported, {"one scale for 64 weights"});
}

TEST_F(Refusals, NamesAPartialLastBlock) {
  set_.set(kGate + ".weight", DType::u8, {32, 44}, std::vector<std::uint8_t>(32 * 44));  // K = 88
  set_.set(kGate + ".weight_scale", DType::f8_e4m3, {32, 6}, std::vector<std::uint8_t>(192, 0x38));
  expect_error(ErrorCode::mismatch, {"88 weights a row", "6 scales", "no whole number of blocks"});
}

TEST_F(Refusals, NamesAMatrixOfAnotherShapeThanItsSiblings) {
  set_.set(kGate + ".weight", DType::u8, {16, 32}, std::vector<std::uint8_t>(512));
  set_.set(kGate + ".weight_scale", DType::f8_e4m3, {16, 4}, std::vector<std::uint8_t>(64, 0x38));
  expect_error(ErrorCode::mismatch, {"layer 5", "expert 1", "gate_proj", "16 x 64", "32 x 64"});
}

TEST_F(Refusals, NamesAScaleOfEachRow) {
  set_.remove(kGate + ".weight_scale_2");
  set_.add_floats(kGate + ".weight_scale_2", {32}, std::vector<float>(32, 1e-4F));
  expect_error(ErrorCode::unsupported, {"layer 5", "expert 1", kGate + ".weight_scale_2", "[32]"});
}

TEST_F(Refusals, NamesMixedFormatsInALayer) {
  for (const char* role : {".weight", ".weight_scale", ".weight_scale_2", ".input_scale"}) {
    set_.remove(kExperts + ".2.down_proj" + role);
  }
  set_.add(kExperts + ".2.down_proj.weight", DType::f8_e4m3, {64, 32}, std::vector<std::uint8_t>(2048));
  set_.add_floats(kExperts + ".2.down_proj.weight_scale", {}, {1.0F});
  expect_error(ErrorCode::unsupported, {"layer 5", "mixes formats", "NVFP4", kExperts + ".2.down_proj", "FP8"});
}

TEST_F(Refusals, NamesMixedLayoutsInALayer) {
  add_stacked(set_, layer_, kExperts, RowOrder::gate_then_up, Order::plain);
  expect_error(ErrorCode::mismatch, {"layer 5", "stacked", "single"});
}

TEST_F(Refusals, NamesInt4AndMxfp4AndPlainWeights) {
  struct Case {
    DType weight, scale;
    const char* name;
    const char* format;
  };
  for (const Case& c :
       {Case{DType::i32, DType::bf16, ".weight_packed", "INT4"}, Case{DType::u8, DType::u8, ".weight_packed", "MXFP4"},
        Case{DType::bf16, DType::other, ".weight", "unquantized"},
        Case{DType::f8_e4m3, DType::f32, ".weight", "FP8"}}) {
    SCOPED_TRACE(c.format);
    set_ = TensorSet();
    for (const char* projection : {".gate_proj", ".up_proj", ".down_proj"}) {
      const std::string name = kExperts + ".0" + projection;
      set_.add(name + c.name, c.weight, {4, 4},
               std::vector<std::uint8_t>(16U * static_cast<unsigned>(size_of(c.weight))));
      if (c.scale == DType::other) continue;
      set_.add(name + ".weight_scale", c.scale, {4},
               std::vector<std::uint8_t>(4U * static_cast<unsigned>(size_of(c.scale))));
    }
    expect_error(ErrorCode::unsupported, {"layer 5", c.format, "not NVFP4"});
  }
}

TEST_F(Refusals, NamesGptOssMxfp4) {
  set_ = TensorSet();
  for (const char* projection : {".gate_up_proj", ".down_proj"}) {
    set_.add(kExperts + projection + "_blocks", DType::u8, {2, 4, 1, 16}, std::vector<std::uint8_t>(128));
    set_.add(kExperts + projection + "_scales", DType::u8, {2, 4, 1}, std::vector<std::uint8_t>(8));
    set_.add(kExperts + projection + "_bias", DType::bf16, {2, 4}, std::vector<std::uint8_t>(16));
  }
  expect_error(ErrorCode::unsupported, {"layer 5", "MXFP4", "not NVFP4"});
}

TEST_F(Refusals, NamesAwqSvdAndBiases) {
  const TensorSet whole = set_;
  set_.add(kGate + ".pre_quant_scale", DType::bf16, {64}, std::vector<std::uint8_t>(128));
  expect_error(ErrorCode::unsupported, {"layer 5", "expert 1", "NVFP4_AWQ", "pre_quant_scale"});
  set_ = whole;
  set_.add(kGate + ".svdquant_lora_a", DType::bf16, {4, 64}, std::vector<std::uint8_t>(512));
  expect_error(ErrorCode::unsupported, {"layer 5", "expert 1", "NVFP4_SVD", "svdquant_lora_a"});
  set_ = whole;
  set_.add(kGate + ".bias", DType::bf16, {32}, std::vector<std::uint8_t>(64));
  expect_error(ErrorCode::unsupported, {"layer 5", "expert 1", "bias"});
}

TEST_F(Refusals, NamesATensorThatStandsTwice) {
  add_single(set_, layer_, "language_model.model.layers.5.mlp.experts", Dialect::modelopt);
  expect_error(ErrorCode::mismatch, {"layer 5", "language_model.model.layers.5", "model.layers.5"});
}

TEST_F(Refusals, NamesAStackOfAnotherExpertCount) {
  set_ = TensorSet();
  add_stacked(set_, layer_, kExperts, RowOrder::gate_then_up, Order::plain);
  set_.set(kExperts + ".gate_up_proj_weight_scale", DType::f8_e4m3, {2, 64, 4}, std::vector<std::uint8_t>(512, 0x38));
  expect_error(ErrorCode::mismatch, {"layer 5", "gate_up_proj_weight_scale", "holds 2 experts", "has 3"});
}

TEST_F(Refusals, FindsGateAndUpScalesThatDiffer) {
  const float gate = layer_.experts[1].gate.global_scale;
  set_.set_float(kExperts + ".1.up_proj.weight_scale_2", gate * 1.25F);
  expect_finding("gate_up_scale_mismatch", {"layer 5", "1 experts", "expert 1", "1.25"});
  const auto weights = load();
  EXPECT_EQ(weights->experts[1].gate.global_scale, gate);
  EXPECT_EQ(weights->experts[1].up.global_scale, gate * 1.25F);
}

TEST_F(Refusals, FillsAMissingInputScaleWithTheLargestOfItsSiblings) {
  for (const char* projection : {".gate_proj", ".up_proj"}) set_.remove(kExperts + ".1" + projection + ".input_scale");
  set_.set_float(kExperts + ".2.up_proj.input_scale", 0.75F);
  expect_finding("input_scale_filled", {"layer 5", "expert 1", "0.75", "2 matrices"});
  const auto weights = load();
  EXPECT_EQ(weights->experts[1].gate.input_scale, 0.75F);
  EXPECT_EQ(weights->experts[1].up.input_scale, 0.75F);
  EXPECT_EQ(weights->experts[1].down.input_scale, layer_.experts[1].down.input_scale);
  EXPECT_EQ(weights->experts[0].gate.input_scale, layer_.experts[0].gate.input_scale);
}

TEST_F(Refusals, FillsAnInputScaleTheSameWayOnEveryExpertParallelRank) {
  set_.remove(kExperts + ".0.down_proj.input_scale");
  set_.set_float(kExperts + ".2.down_proj.input_scale", 0.5F);
  ASSERT_TRUE(write_safetensors(directory_.file("model.safetensors"), set_.tensors()));
  const auto checkpoint = Checkpoint::open(directory_.path().string());
  ASSERT_TRUE(checkpoint);
  const auto rank0 = checkpoint->load_layer(5, Slice{1, 0, 3, 0});
  ASSERT_TRUE(rank0) << rank0.error().message();
  EXPECT_EQ(rank0->experts[0].down.input_scale, 0.5F);
}

TEST_F(Refusals, TreatsAnInputScaleOfZeroAsMissing) {
  set_.set_float(kGate + ".input_scale", 0.0F);
  expect_finding("input_scale_filled", {"layer 5", "expert 1", "gate_proj"});
  for (int expert = 0; expert < 3; ++expert) {
    set_.set_float(kExperts + "." + std::to_string(expert) + ".down_proj.input_scale", 0.0F);
  }
  const auto weights = load();
  ASSERT_TRUE(weights) << weights.error().message();
  EXPECT_FALSE(weights->experts[0].down.input_scale);
  ASSERT_EQ(findings_.size(), 2U);
  EXPECT_EQ(findings_[1].code, "input_scale_unused");
}

TEST_F(Refusals, AcceptsAnInputScaleOfOne) {
  set_.set_float(kGate + ".input_scale", 1.0F);
  const auto weights = load();
  ASSERT_TRUE(weights) << weights.error().message();
  EXPECT_EQ(weights->experts[1].gate.input_scale, 1.0F);
  EXPECT_TRUE(findings_.empty());
}

TEST_F(Refusals, NamesAnInputScaleThatIsNotANumber) {
  set_.set_float(kGate + ".input_scale", std::numeric_limits<float>::quiet_NaN());
  expect_error(ErrorCode::corrupt, {"layer 5", "expert 1", kGate + ".input_scale", "nan"});
}

TEST_F(Refusals, FindsTensorsWithoutAKnownRole) {
  set_.add(kGate + ".weight_shadow", DType::u8, {1}, {0});
  expect_finding("unmapped_tensor", {"layer 5", "1 tensors", kGate + ".weight_shadow"});
}

TEST_F(Refusals, FindsAConfigThatNamesAnotherFormat) {
  static_cast<void>(directory_.write("config.json", R"({"model_type": "qwen3_moe", "hidden_size": 64,
      "moe_intermediate_size": 32, "num_experts": 3, "num_experts_per_tok": 2, "num_hidden_layers": 6,
      "quantization_config": {"quant_method": "fp8"}})"));
  expect_finding("format_differs", {"layer 5", "fp8"});
}

}  // namespace
}  // namespace tilewright::testing
