// Each family's config.json, cut down to the keys that matter.
#include "tilewright/model.hpp"

#include <gtest/gtest.h>

#include "support/temporary_directory.hpp"

namespace tilewright {
namespace {

ModelFacts parse(const std::string& config) {
  const auto facts = parse_model_config(config);
  if (!facts) {
    ADD_FAILURE() << facts.error().message();
    return {};
  }
  return *facts;
}

Error error_of(const std::string& config, const std::string& quant = {}) {
  const auto facts = parse_model_config(config, quant);
  if (!facts) return facts.error();
  ADD_FAILURE() << "parsed as " << facts->name;
  return {};
}

void expect_sizes(const ModelFacts& facts, int hidden, int intermediate, int experts, int top_k) {
  EXPECT_EQ(facts.hidden, hidden);
  EXPECT_EQ(facts.intermediate, intermediate);
  EXPECT_EQ(facts.experts, experts);
  EXPECT_EQ(facts.routing.top_k, top_k);
}

void expect_layers(const ModelFacts& facts, int moe, int total, int shared_experts) {
  EXPECT_EQ(facts.moe_layers, moe);
  EXPECT_EQ(facts.total_layers, total);
  EXPECT_EQ(facts.shared_experts, shared_experts);
}

constexpr const char* kDeepSeekKeys = R"("hidden_size": 7168, "intermediate_size": 18432, "moe_intermediate_size": 2048,
    "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, "n_group": 8, "topk_group": 4,
    "scoring_func": "sigmoid", "topk_method": "noaux_tc", "norm_topk_prob": true, "routed_scaling_factor": 2.5,
    "hidden_act": "silu", "num_hidden_layers": 61, "first_k_dense_replace": 3, "moe_layer_freq": 1)";

TEST(ModelConfig, ReadsDeepSeekV3) {
  const ModelFacts facts = parse(R"({"model_type": "deepseek_v3", )" + std::string(kDeepSeekKeys) + "}");
  expect_sizes(facts, 7168, 2048, 256, 8);
  expect_layers(facts, 58, 61, 1);
  EXPECT_EQ(facts.routing.scoring, Scoring::sigmoid);
  EXPECT_EQ(facts.routing.groups, 8);
  EXPECT_EQ(facts.routing.top_groups, 4);
  EXPECT_TRUE(facts.routing.selection_bias);
  EXPECT_FLOAT_EQ(facts.routing.scaling_factor, 2.5F);
  EXPECT_EQ(facts.activation.kind, ActivationKind::silu_gated);
  EXPECT_EQ(facts.format, WeightFormat::unspecified);
}

TEST(ModelConfig, ReadsTheLanguageModelInsideAMultimodalWrapper) {
  // top_k 50 is a sampling parameter that Hugging Face writes into the same object.
  const ModelFacts facts = parse(R"({"model_type": "kimi_k25", "vision_config": {"hidden_size": 1152},
      "text_config": {"model_type": "kimi_k2", "top_k": 50, "top_p": 1.0, )" +
                                 std::string(kDeepSeekKeys) + "}}");
  expect_sizes(facts, 7168, 2048, 256, 8);
  EXPECT_EQ(facts.name, "kimi_k2");
}

TEST(ModelConfig, ReadsGlmWithAListOfLayerTypes) {
  const ModelFacts facts = parse(R"({"model_type": "glm_moe_dsa", "hidden_size": 6144, "moe_intermediate_size": 2048,
      "n_routed_experts": 256, "num_experts_per_tok": 8, "n_group": 1, "topk_group": 1, "scoring_func": "sigmoid",
      "topk_method": "noaux_tc", "norm_topk_prob": true, "routed_scaling_factor": 2.5, "hidden_act": "silu",
      "mlp_layer_types": ["dense", "sparse", "sparse"], "num_hidden_layers": 3, "n_shared_experts": 1})");
  expect_sizes(facts, 6144, 2048, 256, 8);
  expect_layers(facts, 2, 3, 1);
}

TEST(ModelConfig, ReadsQwen3) {
  const ModelFacts facts = parse(R"({"model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144,
      "moe_intermediate_size": 768, "num_experts": 128, "num_experts_per_tok": 8, "norm_topk_prob": true,
      "hidden_act": "silu", "num_hidden_layers": 48, "decoder_sparse_step": 2, "mlp_only_layers": [1, 3]})");
  expect_sizes(facts, 2048, 768, 128, 8);
  expect_layers(facts, 22, 48, 0);  // every second of 48, less layers 1 and 3
  EXPECT_EQ(facts.routing.scoring, Scoring::softmax);
  EXPECT_TRUE(facts.routing.renormalize);
  EXPECT_FALSE(facts.routing.selection_bias);
}

TEST(ModelConfig, RenormalisesQwen35ThoughItsConfigDoesNotSaySo) {
  const ModelFacts facts = parse(R"({"model_type": "qwen3_5_moe", "text_config": {"model_type": "qwen3_5_moe_text",
      "hidden_size": 4096, "moe_intermediate_size": 1024, "shared_expert_intermediate_size": 1024, "num_experts": 512,
      "num_experts_per_tok": 10, "hidden_act": "silu", "num_hidden_layers": 60, "mlp_only_layers": []}})");
  expect_sizes(facts, 4096, 1024, 512, 10);
  expect_layers(facts, 60, 60, 1);
  EXPECT_TRUE(facts.routing.renormalize);
}

TEST(ModelConfig, ReadsMiniMaxM2WhoseIntermediateSizeIsTheExperts) {
  const ModelFacts facts = parse(R"({"model_type": "minimax_m2", "hidden_size": 3072, "intermediate_size": 1536,
      "num_local_experts": 256, "num_experts_per_tok": 8, "scoring_func": "sigmoid", "use_routing_bias": true,
      "shared_intermediate_size": 0, "hidden_act": "silu", "num_hidden_layers": 62})");
  expect_sizes(facts, 3072, 1536, 256, 8);
  expect_layers(facts, 62, 62, 0);
  EXPECT_TRUE(facts.routing.renormalize);
  EXPECT_TRUE(facts.routing.selection_bias);
}

TEST(ModelConfig, ReadsMiniMaxM3) {
  const ModelFacts facts = parse(R"({"model_type": "minimax_m3_vl", "text_config": {
      "architectures": ["MiniMaxM3SparseForCausalLM"], "hidden_size": 6144, "intermediate_size": 3072,
      "num_local_experts": 128, "num_experts_per_tok": 4, "n_shared_experts": 1, "scoring_func": "sigmoid",
      "use_routing_bias": true, "hidden_act": "swigluoai", "swiglu_alpha": 1.702, "swiglu_limit": 7.0,
      "routed_scaling_factor": 2.0, "num_hidden_layers": 4, "moe_layer_freq": [0, 0, 1, 1]}})");
  expect_sizes(facts, 6144, 3072, 128, 4);
  expect_layers(facts, 2, 4, 1);
  EXPECT_EQ(facts.activation.kind, ActivationKind::swiglu_oai);
  EXPECT_FLOAT_EQ(facts.activation.limit, 7.0F);
}

TEST(ModelConfig, ReadsDeepSeekV4) {
  const ModelFacts facts = parse(R"({"model_type": "deepseek_v4", "hidden_size": 4096, "moe_intermediate_size": 2048,
      "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 6, "scoring_func": "sqrtsoftplus",
      "topk_method": "noaux_tc", "norm_topk_prob": true, "routed_scaling_factor": 1.5, "swiglu_limit": 10.0,
      "hidden_act": "silu", "num_hidden_layers": 43, "expert_dtype": "fp4",
      "quantization_config": {"quant_method": "fp8", "fmt": "e4m3"}})");
  expect_sizes(facts, 4096, 2048, 256, 6);
  EXPECT_EQ(facts.routing.scoring, Scoring::sqrtsoftplus);
  EXPECT_EQ(facts.activation.kind, ActivationKind::silu_gated_clamped);
  EXPECT_FLOAT_EQ(facts.activation.limit, 10.0F);
  EXPECT_EQ(facts.format, WeightFormat::mxfp4);
}

TEST(ModelConfig, TakesTheScalingFactorOfADeepSeekV4ConversionFromTheModelOfThatSize) {
  const std::string head = R"({"model_type": "deepseek_ref", "architectures": ["DeepseekV4ForCausalLM"],
      "scoring_func": "sqrtsoftplus", "topk_method": "noaux_tc", "num_experts_per_tok": 6, "num_hidden_layers": 61, )";
  const ModelFacts pro =
      parse(head + R"("hidden_size": 7168, "moe_intermediate_size": 3072, "n_routed_experts": 384})");
  EXPECT_FLOAT_EQ(pro.routing.scaling_factor, 2.5F);
  EXPECT_FLOAT_EQ(pro.activation.limit, 10.0F);
  const Error unknown =
      error_of(head + R"("hidden_size": 1024, "moe_intermediate_size": 512, "n_routed_experts": 16})");
  EXPECT_NE(unknown.cause.find("routed_scaling_factor"), std::string::npos) << unknown.message();
}

TEST(ModelConfig, ReadsNemotronsLatentExpertsAndItsInfinity) {
  const ModelFacts facts = parse(R"({"model_type": "nemotron_h", "hidden_size": 4096, "moe_latent_size": 1024,
      "intermediate_size": 2688, "moe_intermediate_size": 2688, "moe_shared_expert_intermediate_size": 5376,
      "n_routed_experts": 512, "n_shared_experts": 1, "n_group": 1, "n_groups": 8, "topk_group": 1,
      "num_experts_per_tok": 22, "norm_topk_prob": true, "routed_scaling_factor": 5.0, "mlp_hidden_act": "relu2",
      "mamba_hidden_act": "silu", "hybrid_override_pattern": "MEM*E", "num_hidden_layers": 5,
      "time_step_limit": [0.0, Infinity], "note": "NaN and \"Infinity\" stay as they are in a string"})");
  expect_sizes(facts, 1024, 2688, 512, 22);
  expect_layers(facts, 2, 5, 1);
  EXPECT_EQ(facts.activation.kind, ActivationKind::relu2);
  EXPECT_FALSE(facts.activation.gated());
  EXPECT_EQ(facts.routing.groups, 1);
  EXPECT_TRUE(facts.routing.selection_bias);
}

TEST(ModelConfig, CountsNemotronsLayersFromItsListOfBlocks) {
  const ModelFacts facts = parse(R"({"model_type": "nemotron_h", "hidden_size": 2688, "moe_latent_size": null,
      "moe_intermediate_size": 1856, "n_routed_experts": 128, "num_experts_per_tok": 6, "mlp_hidden_act": "relu2",
      "layers_block_type": ["mamba", "moe", "attention", "moe"]})");
  expect_sizes(facts, 2688, 1856, 128, 6);
  expect_layers(facts, 2, 4, 0);
}

TEST(ModelConfig, ReadsMixtral) {
  const ModelFacts facts = parse(R"({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336,
      "num_local_experts": 8, "num_experts_per_tok": 2, "hidden_act": "silu", "num_hidden_layers": 32})");
  expect_sizes(facts, 4096, 14336, 8, 2);
  expect_layers(facts, 32, 32, 0);
  EXPECT_EQ(facts.routing.scoring, Scoring::softmax);
  EXPECT_TRUE(facts.routing.renormalize);
}

TEST(ModelConfig, ReadsLlama4) {
  const ModelFacts facts = parse(R"({"model_type": "llama4", "text_config": {"model_type": "llama4_text",
      "hidden_size": 5120, "intermediate_size": 8192, "intermediate_size_mlp": 16384, "num_local_experts": 128,
      "num_experts_per_tok": 1, "interleave_moe_layer_step": 2, "hidden_act": "silu", "num_hidden_layers": 48}})");
  expect_sizes(facts, 5120, 8192, 128, 1);
  expect_layers(facts, 24, 48, 1);
  EXPECT_EQ(facts.routing.scoring, Scoring::sigmoid_on_input);
  EXPECT_FALSE(facts.routing.renormalize);
}

TEST(ModelConfig, ReadsGptOssWhoseSiluIsSwigluOai) {
  const ModelFacts facts = parse(R"({"model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880,
      "num_local_experts": 32, "num_experts_per_tok": 4, "experts_per_token": 4, "hidden_act": "silu",
      "swiglu_limit": 7.0, "num_hidden_layers": 24, "quantization_config": {"quant_method": "mxfp4"}})");
  expect_sizes(facts, 2880, 2880, 32, 4);
  EXPECT_EQ(facts.routing.scoring, Scoring::softmax_topk);
  EXPECT_EQ(facts.activation.kind, ActivationKind::swiglu_oai);
  EXPECT_EQ(facts.format, WeightFormat::mxfp4);
}

TEST(ModelConfig, ReadsStep) {
  const ModelFacts facts = parse(R"({"model_type": "step3p7", "hidden_size": 4096, "intermediate_size": 11264,
      "moe_intermediate_size": 1280, "share_expert_dim": 1280, "n_shared_experts": 1, "num_experts": 288,
      "num_experts_per_tok": 8, "scoring_func": "sigmoid", "use_moe_router_bias": true,
      "moe_router_scaling_factor": 3.0, "first_k_dense_replace": 3, "num_hidden_layers": 45})");
  expect_sizes(facts, 4096, 1280, 288, 8);
  expect_layers(facts, 42, 45, 1);
  EXPECT_TRUE(facts.routing.renormalize);
  EXPECT_TRUE(facts.routing.selection_bias);
  EXPECT_FLOAT_EQ(facts.routing.scaling_factor, 3.0F);
  EXPECT_EQ(facts.activation.kind, ActivationKind::swiglu_step);
  EXPECT_FLOAT_EQ(facts.activation.limit, 7.0F);
}

TEST(ModelConfig, ReadsGemma4AndRefusesItsDenseSibling) {
  const std::string keys = R"("model_type": "gemma4_text", "hidden_size": 2816, "intermediate_size": 2112,
      "hidden_activation": "gelu_pytorch_tanh", "num_hidden_layers": 30)";
  const ModelFacts facts =
      parse(R"({"model_type": "gemma4", "text_config": {"enable_moe_block": true, "num_experts": 128,
      "moe_intermediate_size": 704, "top_k_experts": 8, )" +
            keys + "}}");
  expect_sizes(facts, 2816, 704, 128, 8);
  EXPECT_EQ(facts.activation.kind, ActivationKind::gelu_tanh_gated);
  EXPECT_TRUE(facts.routing.renormalize);
  const Error dense =
      error_of(R"({"model_type": "gemma4", "text_config": {"enable_moe_block": false, "num_experts": null,
      "top_k_experts": null, )" +
               keys + "}}");
  EXPECT_EQ(dense.code, ErrorCode::unsupported);
  EXPECT_NE(dense.cause.find("dense"), std::string::npos) << dense.message();
}

TEST(ModelConfig, ReadsMiMoWhoseScalingFactorIsNull) {
  const ModelFacts facts = parse(R"({"model_type": "mimo_v2_flash", "hidden_size": 4096, "intermediate_size": 16384,
      "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": null, "num_experts_per_tok": 8,
      "norm_topk_prob": true, "scoring_func": "sigmoid", "n_group": 1, "topk_group": 1, "topk_method": "noaux_tc",
      "routed_scaling_factor": null, "hidden_act": "silu", "num_hidden_layers": 3, "moe_layer_freq": [0, 1, 1]})");
  expect_sizes(facts, 4096, 2048, 256, 8);
  expect_layers(facts, 2, 3, 0);
  EXPECT_FLOAT_EQ(facts.routing.scaling_factor, 1.0F);
}

TEST(ModelConfig, NamesAnActivationThatIsNotSupported) {
  const Error error = error_of(R"({"model_type": "kimi_linear", "hidden_size": 7168, "moe_intermediate_size": 3072,
      "num_experts": 896, "num_experts_per_token": 16, "hidden_act": "situ", "num_hidden_layers": 93})");
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_NE(error.cause.find("situ"), std::string::npos) << error.message();
}

TEST(ModelConfig, RefusesToGuessTheRoutingOfAnUnknownFamily) {
  const std::string keys = R"("model_type": "newcomer", "hidden_size": 64, "moe_intermediate_size": 32,
      "num_experts": 8, "num_experts_per_tok": 2, "hidden_act": "silu", "num_hidden_layers": 1)";
  const Error error = error_of("{" + keys + "}");
  EXPECT_NE(error.cause.find("newcomer"), std::string::npos) << error.message();
  EXPECT_NE(error.cause.find("scoring_func"), std::string::npos) << error.message();
  const ModelFacts facts = parse("{" + keys + R"(, "scoring_func": "softmax", "norm_topk_prob": true})");
  EXPECT_EQ(facts.routing.scoring, Scoring::softmax);
  EXPECT_TRUE(facts.routing.renormalize);
}

TEST(ModelConfig, SaysThatAQuantizationConfigIsNoModelConfig) {
  const Error error = error_of(R"({"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4"}})");
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_NE(error.cause.find("hf_quant_config.json"), std::string::npos) << error.message();
}

TEST(ModelConfig, NamesTheKeyAndValueOfAWrongType) {
  const std::string keys = R"("model_type": "qwen3_moe", "hidden_size": 64, "moe_intermediate_size": 32,
      "hidden_act": "silu", "num_hidden_layers": 1)";
  const Error text = error_of("{" + keys + R"(, "num_experts": "many", "num_experts_per_tok": 2})");
  EXPECT_EQ(text.code, ErrorCode::corrupt);
  EXPECT_NE(text.cause.find("num_experts is \"many\""), std::string::npos) << text.message();
  const Error negative = error_of("{" + keys + R"(, "num_experts": 8, "num_experts_per_tok": -1})");
  EXPECT_NE(negative.cause.find("num_experts_per_tok is -1"), std::string::npos) << negative.message();
  const Error excess = error_of("{" + keys + R"(, "num_experts": 8, "num_experts_per_tok": 9})");
  EXPECT_EQ(excess.code, ErrorCode::mismatch);
}

TEST(ModelConfig, NamesTheByteWhereBrokenJsonEnds) {
  const Error error = error_of(R"({"model_type": "qwen3_moe", "hidden_size": )");
  EXPECT_EQ(error.code, ErrorCode::corrupt);
  EXPECT_NE(error.cause.find("byte"), std::string::npos) << error.message();
  EXPECT_EQ(error_of("[1, 2]").code, ErrorCode::corrupt);
  EXPECT_EQ(error_of("").code, ErrorCode::corrupt);
}

TEST(ModelConfig, ReadsADirectoryWithTheQuantizationBesideIt) {
  const testing::TemporaryDirectory directory;
  static_cast<void>(directory.write("config.json", R"({"model_type": "qwen3_moe", "hidden_size": 2048,
      "moe_intermediate_size": 768, "num_experts": 128, "num_experts_per_tok": 8, "hidden_act": "silu"})"));
  static_cast<void>(directory.write("hf_quant_config.json", R"({"quantization": {"quant_algo": "W4A16_NVFP4"}})"));
  const auto facts = read_model_config(directory.path().string());
  ASSERT_TRUE(facts) << facts.error().message();
  EXPECT_EQ(facts->format, WeightFormat::nvfp4_weight_only);
  EXPECT_EQ(facts->name, directory.path().filename().string());
  EXPECT_EQ(facts->source, directory.file("config.json"));
}

TEST(ModelConfig, NamesThePathThatHoldsNoConfig) {
  const testing::TemporaryDirectory directory;
  const auto facts = read_model_config(directory.path().string());
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().code, ErrorCode::not_found);
  EXPECT_NE(facts.error().cause.find(directory.file("config.json")), std::string::npos);
}

}  // namespace
}  // namespace tilewright
