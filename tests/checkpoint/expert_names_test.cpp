#include "checkpoint/expert_names.hpp"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

void expect_name(const char* text, int layer, int expert, Projection projection, TensorRole role) {
  SCOPED_TRACE(text);
  const auto name = parse_expert_tensor_name(text);
  ASSERT_TRUE(name);
  EXPECT_EQ(name->layer, layer);
  EXPECT_EQ(name->expert, expert);
  EXPECT_EQ(name->projection, projection);
  EXPECT_EQ(name->role, role);
}

TEST(ExpertNames, ParsesOneTensorAMatrix) {
  expect_name("model.layers.61.mlp.experts.255.gate_proj.weight_scale_2", 61, 255, Projection::gate,
              TensorRole::global_scale);
  expect_name("layers.0.ffn.experts.7.w2.input_scale", 0, 7, Projection::down, TensorRole::input_scale);
  expect_name("backbone.layers.1.mixer.experts.0.up_proj.weight_packed", 1, 0, Projection::up,
              TensorRole::weight_packed);
}

TEST(ExpertNames, ParsesStackedTensors) {
  expect_name("model.layers.2.mlp.experts.gate_up_proj", 2, kStacked, Projection::gate_up, TensorRole::weight);
  expect_name("model.layers.2.mlp.experts.down_proj_weight_scale", 2, kStacked, Projection::down,
              TensorRole::block_scale);
  expect_name("model.layers.2.mlp.experts.gate_up_proj_packed", 2, kStacked, Projection::gate_up,
              TensorRole::weight_packed);
  expect_name("model.layers.2.mlp.experts.gate_up_proj_scale", 2, kStacked, Projection::gate_up,
              TensorRole::block_scale);
  expect_name("model.layers.2.mlp.experts.gate_up_proj_global_scale", 2, kStacked, Projection::gate_up,
              TensorRole::global_scale_reciprocal);
  expect_name("model.layers.9.moe.up_proj.weight", 9, kStacked, Projection::up, TensorRole::weight);
}

TEST(ExpertNames, LeavesOtherTensorsAlone) {
  for (const char* text : {"model.layers.3.mlp.shared_experts.gate_proj.weight", "model.layers.3.mlp.gate.weight",
                           "model.layers.9.moe.gate.weight", "mtp.layers.0.mlp.experts.1.up_proj.weight",
                           "model.layers.3.self_attn.q_proj.weight", "experts.0.w1.weight", "lm_head.weight", ""}) {
    EXPECT_FALSE(parse_expert_tensor_name(text)) << text;
  }
}

TEST(ExpertNames, KeepsTensorsOfUnknownRoleInView) {
  expect_name("model.layers.3.mlp.experts.1.gate_proj.weight_shape", 3, 1, Projection::gate, TensorRole::unknown);
  expect_name("model.layers.3.mlp.experts.1.mystery.weight", 3, 1, Projection::unknown, TensorRole::unknown);
}

TEST(ExpertNames, DoesNotTakeAHugeNumberForAnExpert) {
  const auto name = parse_expert_tensor_name("model.layers.3.mlp.experts.99999999999.up_proj.weight");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->projection, Projection::unknown);
}

}  // namespace
}  // namespace tilewright
