#include "checkpoint/weight_format.hpp"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

WeightFormat format_of(const char* text) { return weight_format_of(nlohmann::json::parse(text)); }

TEST(WeightFormat, FollowsModelOptsAlgorithm) {
  EXPECT_EQ(format_of(R"({"quant_algo": "NVFP4", "group_size": 16})"), WeightFormat::nvfp4);
  EXPECT_EQ(format_of(R"({"quant_algo": "W4A16_NVFP4", "quant_method": "modelopt"})"), WeightFormat::nvfp4_weight_only);
  EXPECT_EQ(format_of(R"({"quant_algo": "FP8"})"), WeightFormat::fp8);
  EXPECT_EQ(format_of(R"({"quant_algo": "W4A8_MXFP4_FP8"})"), WeightFormat::mxfp4);
  EXPECT_EQ(format_of(R"({"quant_algo": null})"), WeightFormat::unspecified);
}

TEST(WeightFormat, LetsTheExpertsAlgorithmStandAboveTheMethod) {
  EXPECT_EQ(format_of(R"({"quant_method": "fp8", "quant_algo": "MIXED_PRECISION", "moe_quant_algo": "NVFP4"})"),
            WeightFormat::nvfp4);
}

TEST(WeightFormat, LooksOnlyAtRoutedExpertsOfAMixedCheckpoint) {
  EXPECT_EQ(format_of(R"({"quant_algo": "MIXED_PRECISION", "quantized_layers": {
      "m.layers.0.mlp.down_proj": {"quant_algo": "MXFP8"}, "m.layers.3.mlp.shared_experts.up_proj": {"quant_algo": "MXFP8"},
      "m.layers.3.mlp.experts.0.w1": {"quant_algo": "NVFP4"}, "m.layers.3.mlp.experts.1.w1": {"quant_algo": "NVFP4"}}})"),
            WeightFormat::nvfp4);
  EXPECT_EQ(format_of(R"({"quant_algo": "MIXED_PRECISION", "quantized_layers": {
      "m.layers.3.mlp.experts.0.w1": {"quant_algo": "NVFP4"}, "m.layers.3.mlp.experts.1.w1": {"quant_algo": "FP8"}}})"),
            WeightFormat::mixed);
  EXPECT_EQ(format_of(R"({"quant_algo": "MIXED_PRECISION", "quantized_layers": {
      "m.layers.0.self_attn.q_proj": {"quant_algo": "FP8"}}})"),
            WeightFormat::bf16);
}

TEST(WeightFormat, FollowsTheFormatOfCompressedTensors) {
  EXPECT_EQ(format_of(R"({"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized", "config_groups":
      {"group_0": {"weights": {"num_bits": 4}, "input_activations": {"num_bits": 4}}}})"),
            WeightFormat::nvfp4);
  EXPECT_EQ(format_of(R"({"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized", "config_groups":
      {"group_0": {"weights": {"num_bits": 4}, "input_activations": null}}})"),
            WeightFormat::nvfp4_weight_only);
  EXPECT_EQ(format_of(R"({"quant_method": "compressed-tensors", "format": "pack-quantized"})"), WeightFormat::int4);
  EXPECT_EQ(format_of(R"({"quant_method": "compressed-tensors", "format": "mixed-precision", "config_groups":
      {"group_0": {"format": "nvfp4-pack-quantized", "input_activations": {}},
       "group_1": {"format": "float-quantized"}}})"),
            WeightFormat::mixed);
}

}  // namespace
}  // namespace tilewright
