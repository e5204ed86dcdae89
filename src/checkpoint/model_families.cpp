#include "checkpoint/model_families.hpp"

#include <array>

namespace tilewright {
namespace {

constexpr auto kSilu = ActivationKind::silu_gated;

// A longer prefix stands before a shorter one that it contains. Sources: HF = the modelling code of
// github.com/huggingface/transformers (src/transformers/models/<model>), else as noted.
constexpr std::array kFamilies = {
    // DeepSeek's reference inference code: scores are sqrt(softplus(logit)), always normalised; the experts' SwiGLU is
    // clamped at 10 (config.json of deepseek-ai/DeepSeek-V4-Flash and -Pro).
    ModelFamily{"deepseekv4", Scoring::sqrtsoftplus, true, true, ActivationKind::silu_gated_clamped, 10.0F},
    ModelFamily{"deepseekv3", Scoring::sigmoid, true, true, kSilu},  // HF deepseek_v3; V3.1, R1, V3.2 and Kimi-K2.x too
    ModelFamily{"kimik2", Scoring::sigmoid, true, true, kSilu},      // runs DeepseekV3's code
    ModelFamily{"kimilinear", Scoring::sigmoid, true, true, kSilu},  // moonshotai/Kimi-K3 config.json
    ModelFamily{"deepseekv2", Scoring::softmax, false, false, kSilu},  // HF deepseek_v2
    ModelFamily{"glmmoedsa", Scoring::sigmoid, true, true, kSilu},     // HF glm_moe_dsa (GLM-5.x)
    ModelFamily{"glm4moe", Scoring::sigmoid, true, true, kSilu},       // HF glm4_moe, glm4_moe_lite (GLM-4.5 to 4.7)
    // MiniMax divides by the sum of the chosen scores in the model code: config.json has no norm_topk_prob.
    ModelFamily{"minimaxm3", Scoring::sigmoid, true, true, ActivationKind::swiglu_oai, 7.0F, true},
    ModelFamily{"minimaxm2", Scoring::sigmoid, true, true, kSilu, 0.0F, true},
    // Qwen3.5 and 3.6 have no norm_topk_prob in config.json: HF qwen3_5_moe always renormalises.
    ModelFamily{"qwen35moe", Scoring::softmax, true, false, kSilu},
    ModelFamily{"qwen3next", Scoring::softmax, true, false, kSilu},   // HF Qwen3NextConfig
    ModelFamily{"qwen3vlmoe", Scoring::softmax, true, false, kSilu},  // HF Qwen3VLMoeTextSparseMoeBlock
    ModelFamily{"qwen3moe", Scoring::softmax, false, false, kSilu},   // HF Qwen3MoeConfig: norm_topk_prob False
    ModelFamily{"qwen2moe", Scoring::softmax, false, false, kSilu},   // HF Qwen2MoeConfig: norm_topk_prob False
    ModelFamily{"mixtral", Scoring::softmax, true, false, kSilu, 0.0F, true},  // HF MixtralSparseMoeBlock
    // HF llama4: sigmoid of the top-1 logit multiplies the expert's input; one shared expert in every MoE layer.
    ModelFamily{"llama4", Scoring::sigmoid_on_input, false, false, kSilu, 0.0F, true, 1},
    // openai/gpt-oss, gpt_oss/torch/model.py: softmax over the chosen logits, swiglu with alpha 1.702 and limit 7,
    // rows 2j and 2j + 1 of mlp1 are gate and up (hidden_act says "silu").
    ModelFamily{"gptoss", Scoring::softmax_topk, true, false, ActivationKind::swiglu_oai, 7.0F, true, 0, true},
    ModelFamily{"nemotronh", Scoring::sigmoid, true, true, ActivationKind::relu2},  // NVIDIA-Nemotron-3-* config.json
    // stepfun-ai/Step-3.7-Flash: SwigluStep with limit 7 and the normalisation come from the engines' model code.
    ModelFamily{"step3p", Scoring::sigmoid, true, false, ActivationKind::swiglu_step, 7.0F},
    ModelFamily{"gemma4", Scoring::softmax, true, false, ActivationKind::gelu_tanh_gated},  // HF gemma4
    ModelFamily{"mimov2", Scoring::sigmoid, true, true, kSilu},  // XiaomiMiMo/MiMo-V2-Flash config.json
};

std::string letters_and_digits(const std::string& name) {
  std::string out;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') out.push_back(static_cast<char>(c - 'A' + 'a'));
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out.push_back(c);
  }
  return out;
}

}  // namespace

const ModelFamily* find_family(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const std::string key = letters_and_digits(name);
    for (const ModelFamily& family : kFamilies) {
      if (key.rfind(family.name, 0) == 0) return &family;
    }
  }
  return nullptr;
}

}  // namespace tilewright
