// The models known by name. A source without a scheme is a file of kConfigs: a verbatim copy of the config.json that
// the model's publisher has on Hugging Face.
#include <array>
#include <string>

#include "tilewright/model.hpp"

namespace tilewright {
namespace {

constexpr const char* kConfigs =
    "https://github.com/ai-dynamo/aiconfigurator/blob/095f58a51c4ca8e61b66ec108d86f223f8d559ce/"
    "aic-core/src/aiconfigurator_core/model_configs/";

/// Sigmoid scores with a selection bias, normalised: what configs call topk_method noaux_tc.
constexpr Routing noaux_tc(int top_k, float scaling_factor, int groups = 1, int top_groups = 1) {
  return Routing{Scoring::sigmoid, top_k, true, scaling_factor, groups, top_groups, true};
}

constexpr Routing sqrtsoftplus(int top_k, float scaling_factor) {
  return Routing{Scoring::sqrtsoftplus, top_k, true, scaling_factor, 1, 1, true};
}

constexpr Routing unbiased(Scoring scoring, int top_k, bool renormalize) {
  return Routing{scoring, top_k, renormalize, 1.0F, 1, 1, false};
}

constexpr Activation kSilu{ActivationKind::silu_gated, 0.0F};
constexpr Activation kClamped10{ActivationKind::silu_gated_clamped, 10.0F};
constexpr Activation kSwigluStep{ActivationKind::swiglu_step, 7.0F};
constexpr Activation kSwigluOai{ActivationKind::swiglu_oai, 7.0F};
constexpr Activation kGelu{ActivationKind::gelu_tanh_gated, 0.0F};
constexpr Activation kRelu2{ActivationKind::relu2, 0.0F};

struct Row {
  const char* name;
  int hidden, intermediate, experts;
  int shared_experts, moe_layers, total_layers;
  Routing routing;
  Activation activation;
  const char* source;
};

// clang-format off
constexpr std::array kRows = {
    // name, H, I, E, shared experts, MoE layers, all layers, routing, activation, source
    Row{"glm-5", 6144, 2048, 256, 1, 75, 78, noaux_tc(8, 2.5F), kSilu, "zai-org--GLM-5_config.json"},
    Row{"glm-5.1", 6144, 2048, 256, 1, 75, 78, noaux_tc(8, 2.5F), kSilu, "zai-org--GLM-5.1_config.json"},
    Row{"glm-5.2", 6144, 2048, 256, 1, 75, 78, noaux_tc(8, 2.5F), kSilu, "zai-org--GLM-5.2_config.json"},
    Row{"glm-5.3-flash", 4096, 2048, 288, 1, 42, 45, noaux_tc(8, 2.5F), kClamped10, "https://github.com/AI-Hypercomputer/maxtext/pull/5063"},
    Row{"glm-4.5", 5120, 1536, 160, 1, 89, 92, noaux_tc(8, 2.5F), kSilu, "https://github.com/THUDM/slime/blob/624b824a898ab0ec1fcb4d373004c7f3852bf515/scripts/models/glm4.5-355B-A32B.sh"},
    Row{"glm-4.6", 5120, 1536, 160, 1, 89, 92, noaux_tc(8, 2.5F), kSilu, "https://github.com/THUDM/slime/blob/624b824a898ab0ec1fcb4d373004c7f3852bf515/scripts/models/glm4.5-355B-A32B.sh"},
    Row{"glm-4.7", 5120, 1536, 160, 1, 89, 92, noaux_tc(8, 2.5F), kSilu, "https://github.com/THUDM/slime/blob/624b824a898ab0ec1fcb4d373004c7f3852bf515/scripts/models/glm4.5-355B-A32B.sh"},
    Row{"glm-4.5-air", 4096, 1408, 128, 1, 45, 46, noaux_tc(8, 1.0F), kSilu, "https://github.com/THUDM/slime/blob/624b824a898ab0ec1fcb4d373004c7f3852bf515/scripts/models/glm4.5-106B-A12B.sh"},
    Row{"glm-4.7-flash", 2048, 1536, 64, 1, 46, 47, noaux_tc(4, 1.8F), kSilu, "https://github.com/radixark/miles/blob/31f1ca961a94cb860cec3b2dea34ec332bfa8f76/scripts/models/glm4.7-flash.py"},
    Row{"deepseek-v3", 7168, 2048, 256, 1, 58, 61, noaux_tc(8, 2.5F, 8, 4), kSilu, "deepseek-ai--DeepSeek-V3_config.json"},
    Row{"deepseek-r1", 7168, 2048, 256, 1, 58, 61, noaux_tc(8, 2.5F, 8, 4), kSilu, "deepseek-ai--DeepSeek-R1_config.json"},
    Row{"deepseek-v3.1", 7168, 2048, 256, 1, 58, 61, noaux_tc(8, 2.5F, 8, 4), kSilu, "nvidia--DeepSeek-V3.1-NVFP4_config.json"},
    Row{"deepseek-v3.2", 7168, 2048, 256, 1, 58, 61, noaux_tc(8, 2.5F, 8, 4), kSilu, "deepseek-ai--DeepSeek-V3.2_config.json"},
    Row{"deepseek-v4-flash", 4096, 2048, 256, 1, 43, 43, sqrtsoftplus(6, 1.5F), kClamped10, "deepseek-ai--DeepSeek-V4-Flash_config.json"},
    Row{"deepseek-v4-pro", 7168, 3072, 384, 1, 61, 61, sqrtsoftplus(6, 2.5F), kClamped10, "deepseek-ai--DeepSeek-V4-Pro_config.json"},
    Row{"kimi-k2", 7168, 2048, 384, 1, 60, 61, noaux_tc(8, 2.827F), kSilu, "moonshotai--Kimi-K2-Instruct_config.json"},
    Row{"kimi-k2.5", 7168, 2048, 384, 1, 60, 61, noaux_tc(8, 2.827F), kSilu, "moonshotai--Kimi-K2.5_config.json"},
    Row{"kimi-k2.6", 7168, 2048, 384, 1, 60, 61, noaux_tc(8, 2.827F), kSilu, "nvidia--Kimi-K2.6-NVFP4_config.json"},
    Row{"kimi-k2.7-code", 7168, 2048, 384, 1, 60, 61, noaux_tc(8, 2.827F), kSilu, "nvidia--Kimi-K2.7-Code-NVFP4_config.json"},
    Row{"qwen3-30b-a3b", 2048, 768, 128, 0, 48, 48, unbiased(Scoring::softmax, 8, true), kSilu, "Qwen--Qwen3-30B-A3B_config.json"},
    Row{"qwen3-235b-a22b", 4096, 1536, 128, 0, 94, 94, unbiased(Scoring::softmax, 8, true), kSilu, "Qwen--Qwen3-235B-A22B_config.json"},
    Row{"qwen3-vl-30b-a3b", 2048, 768, 128, 0, 48, 48, unbiased(Scoring::softmax, 8, true), kSilu, "Qwen--Qwen3-VL-30B-A3B-Instruct_config.json"},
    Row{"qwen3-coder-480b-a35b", 6144, 2560, 160, 0, 62, 62, unbiased(Scoring::softmax, 8, true), kSilu, "Qwen--Qwen3-Coder-480B-A35B-Instruct_config.json"},
    Row{"qwen3-next-80b-a3b", 2048, 512, 512, 1, 48, 48, unbiased(Scoring::softmax, 10, true), kSilu, "https://github.com/THUDM/slime/blob/624b824a898ab0ec1fcb4d373004c7f3852bf515/scripts/models/qwen3-next-80B-A3B.sh"},
    Row{"qwen3.5-35b-a3b", 2048, 512, 256, 1, 40, 40, unbiased(Scoring::softmax, 8, true), kSilu, "Qwen--Qwen3.5-35B-A3B_config.json"},
    Row{"qwen3.6-35b-a3b", 2048, 512, 256, 1, 40, 40, unbiased(Scoring::softmax, 8, true), kSilu, "nvidia--Qwen3.6-35B-A3B-NVFP4_config.json"},
    Row{"qwen3.5-122b-a10b", 3072, 1024, 256, 1, 48, 48, unbiased(Scoring::softmax, 8, true), kSilu, "Qwen--Qwen3.5-122B-A10B_config.json"},
    Row{"qwen3.5-397b-a17b", 4096, 1024, 512, 1, 60, 60, unbiased(Scoring::softmax, 10, true), kSilu, "Qwen--Qwen3.5-397B-A17B_config.json"},
    Row{"qwen3.8-flash-next", 2560, 640, 512, 1, 0, 0, unbiased(Scoring::softmax, 10, true), kSilu, "https://github.com/1CatAI/1Cat-vLLM/issues/642"},
    Row{"minimax-m2.5", 3072, 1536, 256, 0, 62, 62, noaux_tc(8, 1.0F), kSilu, "MiniMaxAI--MiniMax-M2.5_config.json"},
    Row{"minimax-m2.7", 3072, 1536, 256, 0, 62, 62, noaux_tc(8, 1.0F), kSilu, "MiniMaxAI--MiniMax-M2.7_config.json"},
    Row{"minimax-m2", 3072, 1536, 256, 0, 62, 62, noaux_tc(8, 1.0F), kSilu, "https://github.com/THUDM/slime/blob/624b824a898ab0ec1fcb4d373004c7f3852bf515/scripts/models/minimax-m2.sh"},
    Row{"minimax-m3", 6144, 3072, 128, 1, 57, 60, noaux_tc(4, 2.0F), kSwigluOai, "MiniMaxAI--MiniMax-M3_config.json"},
    Row{"gpt-oss-20b", 2880, 2880, 32, 0, 24, 24, unbiased(Scoring::softmax_topk, 4, true), kSwigluOai, "openai--gpt-oss-20b_config.json"},
    Row{"gpt-oss-120b", 2880, 2880, 128, 0, 36, 36, unbiased(Scoring::softmax_topk, 4, true), kSwigluOai, "openai--gpt-oss-120b_config.json"},
    Row{"mixtral-8x7b", 4096, 14336, 8, 0, 32, 32, unbiased(Scoring::softmax, 2, true), kSilu, "mistralai--Mixtral-8x7B-v0.1_config.json"},
    Row{"mixtral-8x22b", 6144, 16384, 8, 0, 56, 56, unbiased(Scoring::softmax, 2, true), kSilu, "mistralai--Mixtral-8x22B-v0.1_config.json"},
    Row{"llama-4-scout", 5120, 8192, 16, 1, 48, 48, unbiased(Scoring::sigmoid_on_input, 1, false), kSilu, "meta-llama--Llama-4-Scout-17B-16E-Instruct_config.json"},
    Row{"llama-4-maverick", 5120, 8192, 128, 1, 24, 48, unbiased(Scoring::sigmoid_on_input, 1, false), kSilu, "meta-llama--Llama-4-Maverick-17B-128E-Instruct_config.json"},
    Row{"nemotron-3-nano-30b-a3b", 2688, 1856, 128, 1, 23, 52, noaux_tc(6, 2.5F), kRelu2, "nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16_config.json"},
    Row{"nemotron-3.5-lightning-30b-a3b", 2688, 1856, 128, 1, 23, 52, noaux_tc(6, 2.5F), kRelu2, "nvidia--NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4_config.json"},
    Row{"nemotron-3-super-120b-a12b", 1024, 2688, 512, 1, 40, 88, noaux_tc(22, 5.0F), kRelu2, "nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4_config.json"},
    Row{"nemotron-3-ultra-550b-a55b", 2048, 5120, 512, 1, 48, 108, noaux_tc(22, 5.0F), kRelu2, "nvidia--NVIDIA-Nemotron-3-Ultra-550B-A55B-NVFP4_config.json"},
    Row{"step-3.7-flash", 4096, 1280, 288, 1, 42, 45, noaux_tc(8, 3.0F), kSwigluStep, "stepfun-ai--Step-3.7-Flash_config.json"},
    Row{"gemma-4-26b-a4b", 2816, 704, 128, 0, 30, 30, unbiased(Scoring::softmax, 8, true), kGelu, "google--gemma-4-26B-A4B_config.json"},
    Row{"mimo-v2-flash", 4096, 2048, 256, 0, 47, 48, noaux_tc(8, 1.0F), kSilu, "XiaomiMiMo--MiMo-V2-Flash_config.json"},
};
// clang-format on

std::vector<ModelFacts> build_models() {
  std::vector<ModelFacts> models;
  models.reserve(kRows.size());
  for (const Row& row : kRows) {
    ModelFacts facts;
    facts.name = row.name;
    facts.hidden = row.hidden;
    facts.intermediate = row.intermediate;
    facts.experts = row.experts;
    facts.shared_experts = row.shared_experts;
    facts.moe_layers = row.moe_layers;
    facts.total_layers = row.total_layers;
    facts.routing = row.routing;
    facts.activation = row.activation;
    const std::string source = row.source;
    facts.source = source.find("://") == std::string::npos ? kConfigs + source : source;
    models.push_back(std::move(facts));
  }
  return models;
}

}  // namespace

const std::vector<ModelFacts>& known_models() {
  static const std::vector<ModelFacts> models = build_models();
  return models;
}

}  // namespace tilewright
