#include "tools/tilewright/verify_cases.hpp"

#include <algorithm>

namespace tilewright::cli {
namespace {

VerifyCase make(std::string name, std::int64_t hidden, std::int64_t intermediate, int experts, int top_k, int tokens) {
  VerifyCase test;
  test.name = std::move(name);
  test.shape = {hidden, intermediate, experts, 0, experts, true};
  test.tokens = tokens;
  test.routing.top_k = top_k;
  return test;
}

VerifyCase with_activation(VerifyCase test, ActivationKind kind, float limit) {
  test.activation = {kind, limit};
  test.shape.gated = test.activation.gated();
  return test;
}

VerifyCase with_scoring(VerifyCase test, Scoring scoring, bool renormalize, float scaling_factor) {
  test.routing.scoring = scoring;
  test.routing.renormalize = renormalize;
  test.routing.scaling_factor = scaling_factor;
  return test;
}

VerifyCase with_slots(VerifyCase test, SlotPattern slots) {
  test.slots = slots;
  return test;
}

// Experts 8 to 15 of 32: slots of the other ranks must add nothing.
VerifyCase expert_parallel_rank() {
  VerifyCase test = make("one of four expert-parallel ranks", 256, 128, 8, 6, 24);
  test.shape.first_expert = 8;
  test.shape.global_experts = 32;
  return test;
}

}  // namespace

std::vector<VerifyCase> verify_cases() {
  using enum ActivationKind;
  return {
      make("decode of one token, Qwen3 sizes", 2048, 768, 8, 8, 1),
      make("decode of eight tokens", 1024, 512, 16, 4, 8),
      make("many rows an expert", 512, 256, 4, 2, 100),
      make("no tokens", 256, 128, 4, 2, 0),
      make("inner width 96 (Qwen3, tp 8)", 2048, 96, 8, 4, 5),
      make("inner width 80", 1280, 80, 6, 3, 7),
      make("inner width 176 (GLM-4.5-Air, tp 8)", 1024, 176, 8, 4, 9),
      make("inner width 16, the smallest", 128, 16, 4, 2, 3),
      with_activation(make("hidden 2688, relu2 (Nemotron-3)", 2688, 464, 4, 2, 4), relu2, 0.0F),
      with_activation(make("hidden 2880, swiglu_oai (gpt-oss)", 2880, 720, 4, 4, 3), swiglu_oai, 7.0F),
      with_activation(make("clamped gate and up (DeepSeek-V4)", 512, 256, 6, 6, 8), silu_gated_clamped, 0.5F),
      with_activation(make("clamped silu (Step-3.7)", 512, 320, 6, 3, 8), swiglu_step, 0.5F),
      with_activation(make("gelu_tanh (Gemma-4), hidden 2816", 2816, 176, 4, 2, 4), gelu_tanh_gated, 0.0F),
      make("one expert", 256, 128, 1, 1, 5),
      make("3 experts", 256, 128, 3, 2, 11),
      make("36 experts", 256, 64, 36, 4, 17),
      make("60 experts", 256, 64, 60, 8, 17),
      with_scoring(make("512 experts, top-22 (Nemotron-3 Super)", 256, 48, 512, 22, 3), Scoring::sigmoid, true, 5.0F),
      with_scoring(make("weight on the input, top-1 (Llama-4)", 512, 256, 16, 1, 12), Scoring::sigmoid_on_input, false,
                   1.0F),
      with_slots(make("every token to one expert", 256, 128, 8, 2, 33), SlotPattern::one_expert),
      with_slots(make("ignored slots, a token without any", 256, 128, 8, 4, 10), SlotPattern::some_ignored),
      expert_parallel_rank(),
  };
}

Result<RoutedTokens> slots_of(const VerifyCase& test, std::uint64_t seed) {
  const int experts = test.shape.global_experts;
  const std::vector<float> logits = random_logits(test.tokens, experts, seed);
  TILEWRIGHT_ASSIGN(RoutedTokens routed, route(test.routing, logits.data(), test.tokens, experts));
  if (test.slots == SlotPattern::one_expert) {
    std::fill(routed.ids.begin(), routed.ids.end(), experts - 1);
  } else if (test.slots == SlotPattern::some_ignored) {
    for (std::size_t i = 0; i < routed.ids.size(); ++i) {
      if (i < static_cast<std::size_t>(routed.top_k) || i % 3 == 0) routed.ids[i] = -1;
    }
  }
  return routed;
}

}  // namespace tilewright::cli
