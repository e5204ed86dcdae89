// The safetensors files of `run --input` and `--output`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilewright/float_types.hpp"
#include "tilewright/result.hpp"
#include "tilewright/routing.hpp"

namespace tilewright::cli {

/// What an input file says. Where it has neither logits nor ids, `logits` and `routed.ids` are empty.
struct InputFile {
  int tokens = 0;
  std::vector<bf16> x;        ///< tensor "x", BF16, F16 or F32, [tokens, hidden]
  std::vector<float> logits;  ///< tensor "router_logits", F32, [tokens, experts]
  RoutedTokens routed;        ///< tensors "topk_ids" (I32 or I64) and "topk_weights" (F32), [tokens, k]
};

Result<InputFile> read_input(const std::string& path, std::int64_t hidden, int experts);

/// Writes y as tensor "y", F32, [tokens, hidden].
Status write_output(const std::string& path, const std::vector<float>& y, int tokens);

}  // namespace tilewright::cli
