// The stacks whose NVFP4 expert layers are published for SM120. Kernels, passes and tiles are descriptions;
// `efficiency` is fitted on half of the models of published_moe_rtx_pro_6000_nvfp4.csv (docs/model.md; `tilewright
// validate` fits it again and prints both). The router's numbers were chosen on the same half.
#include <algorithm>

#include "tilewright/peer_stacks.hpp"

namespace tilewright {
namespace {

// TensorRT-LLM's torch-flow CUTLASS layer. Kernels: router, quantize, three that map rows to experts, copy of rows,
// problem set-up, GEMM1, activation, GEMM2, clearing of the output that GEMM2 adds to. That it adds is inferred: up to
// 40 MB of output its times grow by a third of what writing and summing bf16 rows would take.
PeerStack tensorrt_llm(const char* kernel, double efficiency) {
  PeerStack stack;
  stack.framework = "TRTLLM";
  stack.version = "1.3.0rc20";
  stack.kernel = kernel;
  stack.kernels = 11;
  stack.expert_setups = 2;
  stack.quantizes_tokens_once = true;
  stack.adds_in_epilogue = true;
  stack.choice_us = 0.5;
  stack.wide_router_passes = 8;
  stack.efficiency = efficiency;
  return stack;
}

// The same layer with FP8 weights: kernels of sm_89, whose tiles go down to 16 tokens, and no block scales to lay out.
// Fitted on the EP 1 rows of published_perf.csv.
PeerStack tensorrt_llm_fp8() {
  PeerStack stack = tensorrt_llm("moe_torch_flow_cutlass", 0.95);
  stack.format = PeerFormat::fp8;
  stack.token_tiles = {16, 32, 64, 128};
  stack.kernels = 9;
  return stack;
}

// FlashInfer's CUTLASS layer through SGLang. Kernels: router, map of rows to experts, copy with quantization, problem
// set-up, GEMM1, activation, GEMM2, sum of a token's rows. Above eight experts a token the router is not fused:
// sigmoid, bias, top-k, gather and normalisation are kernels of their own.
PeerStack flashinfer() {
  PeerStack stack;
  stack.framework = "SGLang";
  stack.version = "0.5.14";
  stack.kernel = "sglang_flashinfer_cutlass_moe";
  stack.kernels = 8;
  stack.wide_router_us = 31;
  stack.wide_router_passes = 30;
  stack.efficiency = 0.94;
  return stack;
}

}  // namespace

const char* to_string(PeerFormat format) { return format == PeerFormat::fp8 ? "fp8" : "nvfp4"; }

const std::vector<PeerStack>& peer_stacks() {
  static const std::vector<PeerStack> stacks = {tensorrt_llm("moe_torch_flow_cutlass", 1.13),
                                                tensorrt_llm("moe_torch_flow_nongated", 0.85), flashinfer(),
                                                tensorrt_llm_fp8()};
  return stacks;
}

const PeerStack* find_peer_stack(const std::string& framework, const std::string& version, const std::string& kernel,
                                 PeerFormat format) {
  const std::vector<PeerStack>& stacks = peer_stacks();
  const auto found = std::find_if(stacks.begin(), stacks.end(), [&](const PeerStack& stack) {
    return stack.framework == framework && stack.version == version && stack.kernel == kernel && stack.format == format;
  });
  return found == stacks.end() ? nullptr : &*found;
}

}  // namespace tilewright
