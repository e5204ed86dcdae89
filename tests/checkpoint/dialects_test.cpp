// Every dialect, layout and prefix loads to the same bytes.
#include <cmath>

#include <gtest/gtest.h>

#include "checkpoint/layer_fixture.hpp"
#include "support/temporary_directory.hpp"

namespace tilewright::testing {
namespace {

// Rows and columns that are no powers of two, and rows != columns, so that no mix-up of the two goes unseen.
constexpr int kExperts = 3;
constexpr std::int64_t kHidden = 80;
constexpr std::int64_t kIntermediate = 48;

class Dialects : public ::testing::Test {
 protected:
  Checkpoint open(const TensorSet& set) {
    const Status written = write_safetensors(directory_.file("model.safetensors"), set.tensors());
    if (!written) throw std::runtime_error(written.error().message());
    auto checkpoint = Checkpoint::open(directory_.path().string());
    if (!checkpoint) throw std::runtime_error(checkpoint.error().message());
    return *checkpoint;
  }

  void config(const std::string& text) { static_cast<void>(directory_.write("config.json", text)); }

  void expect_loads(const TensorSet& set, int layer, const LayerBytes& expected) {
    const Checkpoint checkpoint = open(set);
    EXPECT_EQ(checkpoint.layers(), std::vector<int>{layer});
    std::vector<Finding> findings;
    const auto weights = checkpoint.load_layer(layer, {}, &findings);
    ASSERT_TRUE(weights) << weights.error().message();
    expect_equal(*weights, expected);
    for (const Finding& finding : findings) ADD_FAILURE() << finding.code << ": " << finding.message;
  }

  const LayerBytes gated_ = random_layer(kExperts, kHidden, kIntermediate, true, 1);
  const LayerBytes plain_ = random_layer(kExperts, kHidden, kIntermediate, false, 2);
  TemporaryDirectory directory_;
};

TEST_F(Dialects, ReadsModelOptUnderEveryPrefixAndBlock) {
  for (const char* prefix :
       {"model.layers.3.mlp.experts", "language_model.model.layers.3.mlp.experts",
        "model.language_model.layers.3.mlp.experts", "model.language_model.layers.3.experts",
        "model.layers.3.feed_forward.experts", "layers.3.ffn.experts", "model.layers.3.moe.experts"}) {
    SCOPED_TRACE(prefix);
    TensorSet set;
    add_single(set, gated_, prefix, Dialect::modelopt);
    expect_loads(set, 3, gated_);
  }
}

TEST_F(Dialects, ReadsTheLetterNamesOfMixtralMiniMaxAndDeepSeekV4) {
  for (const char* prefix : {"model.layers.0.block_sparse_moe.experts", "layers.0.ffn.experts"}) {
    TensorSet set;
    add_single(set, gated_, prefix, Dialect::modelopt, kLetters);
    expect_loads(set, 0, gated_);
  }
}

TEST_F(Dialects, ReadsNemotronsExpertsWithoutAGate) {
  for (const Dialect dialect : {Dialect::modelopt, Dialect::compressed_tensors}) {
    TensorSet set;
    add_single(set, plain_, "backbone.layers.12.mixer.experts", dialect);
    expect_loads(set, 12, plain_);
  }
}

TEST_F(Dialects, ReadsCompressedTensorsAsTheSameModel) {
  TensorSet set;
  add_single(set, gated_, "model.layers.1.mlp.experts", Dialect::compressed_tensors);
  expect_loads(set, 1, gated_);
}

TEST_F(Dialects, GivesBothDialectsTheSameGlobalScaleToOneUlp) {
  LayerBytes layer = gated_;
  const float amax = 0.4375F;
  for (ExpertBytes& expert : layer.experts) {
    for (MatrixBytes* matrix : {&expert.gate, &expert.up, &expert.down}) matrix->global_scale = amax / 2688.0F;
  }
  float scales[2] = {0.0F, 0.0F};
  for (const Dialect dialect : {Dialect::modelopt, Dialect::compressed_tensors}) {
    TensorSet set;
    add_single(set, layer, "model.layers.0.mlp.experts", dialect);
    const auto weights = open(set).load_layer(0);
    ASSERT_TRUE(weights) << weights.error().message();
    scales[dialect == Dialect::modelopt ? 0 : 1] = weights->experts[0].up.global_scale;
  }
  EXPECT_EQ(scales[0], amax / 2688.0F);
  EXPECT_LE(std::abs(scales[1] - scales[0]), std::nextafter(scales[0], 1.0F) - scales[0]);
}

TEST_F(Dialects, ReadsStackedExpertsWithFusedGateAndUp) {
  TensorSet set;
  add_stacked(set, gated_, "model.language_model.layers.2.mlp.experts", RowOrder::gate_then_up, Order::plain);
  expect_loads(set, 2, gated_);
}

TEST_F(Dialects, ReadsCompressedTensorsNamesOfStackedParameters) {
  TensorSet set;
  add_stacked(set, gated_, "model.language_model.layers.2.mlp.experts", RowOrder::gate_then_up, Order::plain,
              Dialect::compressed_tensors);
  expect_loads(set, 2, gated_);
}

TEST_F(Dialects, ReadsLlama4sTransposedStack) {
  TensorSet set;
  add_stacked(set, gated_, "language_model.model.layers.1.feed_forward.experts", RowOrder::gate_then_up,
              Order::transposed);
  expect_loads(set, 1, gated_);
}

TEST_F(Dialects, ReadsGptOssInterleavedRowsBecauseOfItsModelType) {
  config(R"({"model_type": "gpt_oss", "hidden_size": 80, "intermediate_size": 48, "num_local_experts": 3,
             "num_experts_per_tok": 2, "swiglu_limit": 7.0, "num_hidden_layers": 1})");
  for (const Order order : {Order::plain, Order::transposed}) {
    TensorSet set;
    add_stacked(set, gated_, "model.layers.0.mlp.experts", RowOrder::interleaved, order);
    expect_loads(set, 0, gated_);
  }
}

TEST_F(Dialects, ReadsStepsStackOfEachProjection) {
  TensorSet set;
  add_stacked_projections(set, gated_, "model.layers.4.moe");
  expect_loads(set, 4, gated_);
}

TEST_F(Dialects, ReadsSingleExpertsWithFusedGateAndUp) {
  TensorSet set;
  add_single(set, gated_, "model.layers.0.mlp.experts", Dialect::modelopt);
  for (int e = 0; e < kExperts; ++e) {
    const std::string expert = "model.layers.0.mlp.experts." + std::to_string(e) + ".";
    const ExpertBytes& bytes = gated_.experts[static_cast<std::size_t>(e)];
    const auto join = [](std::vector<std::uint8_t> a, const std::vector<std::uint8_t>& b) {
      a.insert(a.end(), b.begin(), b.end());
      return a;
    };
    for (const char* projection : {"gate_proj", "up_proj"}) {
      for (const char* role : {".weight", ".weight_scale", ".weight_scale_2", ".input_scale"}) {
        set.remove(expert + projection + role);
      }
    }
    const std::string fused = expert + "gate_up_proj";
    set.add(fused + ".weight", DType::u8, {2 * kIntermediate, kHidden / 2}, join(bytes.gate.codes, bytes.up.codes));
    set.add(fused + ".weight_scale", DType::f8_e4m3, {2 * kIntermediate, kHidden / 16},
            join(bytes.gate.scales, bytes.up.scales));
    set.add_floats(fused + ".weight_scale_2", {}, {bytes.gate.global_scale});
    set.add_floats(fused + ".input_scale", {}, {*bytes.gate.input_scale});
  }
  expect_loads(set, 0, gated_);
}

TEST_F(Dialects, ReadsAFusedStackWithAGlobalScaleForEachHalf) {
  LayerBytes layer = gated_;
  TensorSet set;
  const std::string prefix = "model.layers.0.mlp.experts";
  add_stacked(set, layer, prefix, RowOrder::gate_then_up, Order::plain);
  std::vector<float> halves;
  for (ExpertBytes& expert : layer.experts) {
    expert.up.global_scale = expert.gate.global_scale / 4.0F;
    halves.push_back(expert.gate.global_scale);
    halves.push_back(expert.up.global_scale);
  }
  set.remove(prefix + ".gate_up_proj_weight_scale_2");
  set.add_floats(prefix + ".gate_up_proj_weight_scale_2", {kExperts, 2}, halves);
  const auto weights = open(set).load_layer(0);
  ASSERT_TRUE(weights) << weights.error().message();
  expect_equal(*weights, layer);
}

TEST_F(Dialects, ReadsAStackWithOneGlobalScaleForAllExperts) {
  LayerBytes layer = gated_;
  TensorSet set;
  const std::string prefix = "model.layers.0.mlp.experts";
  add_stacked(set, layer, prefix, RowOrder::gate_then_up, Order::plain);
  set.set_float(prefix + ".down_proj_weight_scale_2", 0.25F);
  for (ExpertBytes& expert : layer.experts) expert.down.global_scale = 0.25F;
  const auto weights = open(set).load_layer(0);
  ASSERT_TRUE(weights) << weights.error().message();
  expect_equal(*weights, layer);
}

TEST_F(Dialects, ReadsWeightOnlyExpertsWithoutInputScales) {
  LayerBytes layer = gated_;
  for (ExpertBytes& expert : layer.experts) {
    for (MatrixBytes* matrix : {&expert.gate, &expert.up, &expert.down}) matrix->input_scale.reset();
  }
  for (const Dialect dialect : {Dialect::modelopt, Dialect::compressed_tensors}) {
    TensorSet set;
    add_single(set, layer, "model.layers.0.mlp.experts", dialect);
    expect_loads(set, 0, layer);
  }
}

TEST_F(Dialects, UnionsTheShardsOfADirectory) {
  TensorSet all;
  add_single(all, gated_, "model.layers.0.mlp.experts", Dialect::modelopt);
  std::vector<TensorData> shards[2];
  for (std::size_t i = 0; i < all.tensors().size(); ++i) shards[i % 2].push_back(all.tensors()[i]);
  ASSERT_TRUE(write_safetensors(directory_.file("a.safetensors"), shards[0]));
  ASSERT_TRUE(write_safetensors(directory_.file("b.safetensors"), shards[1]));
  const auto checkpoint = Checkpoint::open(directory_.path().string());
  ASSERT_TRUE(checkpoint) << checkpoint.error().message();
  const auto weights = checkpoint->load_layer(0);
  ASSERT_TRUE(weights) << weights.error().message();
  expect_equal(*weights, gated_);
}

TEST_F(Dialects, OpensASingleFileToo) {
  TensorSet set;
  add_single(set, gated_, "model.layers.0.mlp.experts", Dialect::modelopt);
  ASSERT_TRUE(write_safetensors(directory_.file("only.safetensors"), set.tensors()));
  const auto checkpoint = Checkpoint::open(directory_.file("only.safetensors"));
  ASSERT_TRUE(checkpoint) << checkpoint.error().message();
  EXPECT_TRUE(checkpoint->load_layer(0));
  EXPECT_EQ(checkpoint->model().error().code, ErrorCode::not_found);
}

TEST_F(Dialects, LeavesOutSharedExpertsAndTokenPrediction) {
  config(R"({"model_type": "qwen3_moe", "hidden_size": 80, "moe_intermediate_size": 48, "num_experts": 3,
             "num_experts_per_tok": 2, "norm_topk_prob": true, "hidden_act": "silu", "num_hidden_layers": 2})");
  TensorSet set;
  add_single(set, gated_, "model.layers.1.mlp.experts", Dialect::modelopt);
  add_single(set, gated_, "model.layers.2.mlp.experts", Dialect::modelopt);  // past num_hidden_layers
  add_single(set, gated_, "mtp.layers.0.mlp.experts", Dialect::modelopt);
  set.add("model.layers.1.mlp.shared_experts.gate_proj.weight", DType::u8, {4, 8}, std::vector<std::uint8_t>(32));
  set.add("model.layers.1.mlp.shared_expert.up_proj.weight", DType::u8, {4, 8}, std::vector<std::uint8_t>(32));
  expect_loads(set, 1, gated_);
}

TEST_F(Dialects, KeepsTheFilesMappedForAsLongAsTheWeightsLive) {
  TensorSet set;
  add_single(set, gated_, "model.layers.0.mlp.experts", Dialect::modelopt);
  Result<ExpertWeights> weights = fail(ErrorCode::io, "not loaded");
  {
    const Checkpoint checkpoint = open(set);
    weights = checkpoint.load_layer(0);
  }
  ASSERT_TRUE(weights) << weights.error().message();
  expect_equal(*weights, gated_);
}

TEST_F(Dialects, ReadsTheSameBytesAfterPagesWereReleased) {
  const LayerBytes large = random_layer(2, 512, 256, true, 7);  // matrices of many pages
  TensorSet set;
  add_single(set, large, "model.layers.0.mlp.experts", Dialect::modelopt);
  const auto weights = open(set).load_layer(0);
  ASSERT_TRUE(weights) << weights.error().message();
  for (int expert = -1; expert <= 2; ++expert) weights->release_pages(expert);  // out of range: nothing to give back
  expect_equal(*weights, large);
}

TEST_F(Dialects, ReadsTheRouterOfALayer) {
  TensorSet set;
  add_single(set, gated_, "model.layers.0.mlp.experts", Dialect::modelopt);
  set.add("model.layers.0.mlp.gate.weight", DType::bf16, {kExperts, 2},
          {0x80, 0x3F, 0x00, 0x40, 0, 0, 0, 0, 0, 0, 0, 0});
  set.add_floats("model.layers.0.mlp.gate.e_score_correction_bias", {kExperts}, {0.5F, 0.25F, 0.125F});
  const auto router = open(set).load_router(0);
  ASSERT_TRUE(router) << router.error().message();
  EXPECT_EQ(router->hidden, 2);
  EXPECT_EQ(router->weight, (std::vector<float>{1.0F, 2.0F, 0.0F, 0.0F, 0.0F, 0.0F}));
  EXPECT_EQ(router->selection_bias, (std::vector<float>{0.5F, 0.25F, 0.125F}));
  EXPECT_TRUE(router->logit_bias.empty());
}

TEST_F(Dialects, SaysThatALayerHasNoRouter) {
  TensorSet set;
  add_single(set, gated_, "model.layers.0.mlp.experts", Dialect::modelopt);
  const auto router = open(set).load_router(0);
  ASSERT_FALSE(router);
  EXPECT_EQ(router.error().code, ErrorCode::not_found);
  EXPECT_NE(router.error().cause.find("model.layers.0.mlp.gate.weight"), std::string::npos);
}

TEST_F(Dialects, NamesTheLayersThatHaveExperts) {
  TensorSet set;
  add_single(set, gated_, "model.layers.3.mlp.experts", Dialect::modelopt);
  add_single(set, gated_, "model.layers.4.mlp.experts", Dialect::modelopt);
  const auto weights = open(set).load_layer(0);
  ASSERT_FALSE(weights);
  EXPECT_EQ(weights.error().code, ErrorCode::not_found);
  EXPECT_NE(weights.error().cause.find("from 3 to 4"), std::string::npos) << weights.error().message();
}

}  // namespace
}  // namespace tilewright::testing
