// The names that exporters give to the tensors of routed experts.
//
//   <prefix>layers.<L>.[<block>.]experts.<e>.<projection>.<role>     one matrix a tensor
//   <prefix>layers.<L>.[<block>.]experts.<projection>[.|_]<role>     stacked, leading dimension E
//   <prefix>layers.<L>.moe.<projection>.<role>                       stacked (Step-3.7)
//
// Only the part from "layers" on is looked at: prefixes are "model.", "language_model.model.", "model.language_model.",
// "backbone." or nothing, and blocks are mlp, block_sparse_moe, ffn, mixer, feed_forward or moe.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tilewright {

enum class Projection : std::uint8_t { gate, up, gate_up, down, unknown };

enum class TensorRole : std::uint8_t {
  weight,                   ///< "weight": ModelOpt's packed codes, or plain values
  weight_packed,            ///< "weight_packed": compressed-tensors' packed codes
  block_scale,              ///< "weight_scale"
  global_scale,             ///< "weight_scale_2", a multiplier
  global_scale_reciprocal,  ///< "weight_global_scale"
  input_scale,              ///< "input_scale", a multiplier
  input_scale_reciprocal,   ///< "input_global_scale"
  pre_quant_scale,          ///< NVFP4_AWQ's factors of the input channels
  svd_factor,               ///< NVFP4_SVD's svdquant_lora_a and _b
  bias,
  mx_blocks,  ///< gpt-oss MXFP4 "_blocks"
  mx_scales,  ///< gpt-oss MXFP4 "_scales", DeepSeek-V4's "scale", FP8's "weight_scale_inv"
  unknown,
};
inline constexpr int kTensorRoles = static_cast<int>(TensorRole::unknown) + 1;

constexpr int kStacked = -1;  ///< the expert number of a tensor that holds all experts

struct ExpertTensorName {
  int layer = 0;
  int expert = kStacked;
  Projection projection = Projection::unknown;
  TensorRole role = TensorRole::unknown;
};

/// The parts of a routed expert's tensor name; none for every other tensor, shared experts and multi-token-prediction
/// modules (mtp.*) among them.
std::optional<ExpertTensorName> parse_expert_tensor_name(std::string_view name);

/// "gate_proj", as messages say it.
const char* to_string(Projection projection);

}  // namespace tilewright
