// What a layer's tensors look like, number by number: telling a broken checkpoint from a broken kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tilewright/checkpoint.hpp"
#include "tilewright/result.hpp"

namespace tilewright {

/// Block scales in [low, high); the zero bin has low = high = 0.
struct ScaleBin {
  float low = 0.0F;
  float high = 0.0F;
  std::int64_t count = 0;
};

/// Spread of one kind of scale over the matrices of a layer. All 0 where count is 0.
struct ScaleSpread {
  std::int64_t count = 0;
  float min = 0.0F;
  float median = 0.0F;
  float max = 0.0F;
};

/// Experts whose gate and up have a global scale each. Ratios are larger over smaller, of the pairs that differ.
struct GateUpPairs {
  std::int64_t pairs = 0;
  std::int64_t mismatched = 0;
  double median_ratio = 1.0;
  double max_ratio = 1.0;
};

/// One layer. Findings carry the codes of checkpoint.hpp, where the layer loads, and these:
///   matrix_refused          a matrix that load_layer would refuse, with its error; the others are still counted
///   nan_scale               block scales of 0x7F
///   sign_bit_scale          block scales with bit 7 set (0x80 apart)
///   zero_scale_with_codes   blocks whose scale is 0 and whose codes are not: their weights were lost
///   saturated_scales        more than 1 % of the block scales are 448: a global scale that is too small
///   global_scale_outlier    a global scale more than 16 times away from the median of its projection
struct LayerReport {
  int layer = 0;
  std::optional<Error> error;  ///< why load_layer refuses the layer; then only what could be read is filled in
  std::string format;          ///< "NVFP4", "MXFP4", "FP8", "INT4", "unquantized"
  Dialect dialect = Dialect::modelopt;
  std::string layout;  ///< "one tensor a matrix", "stacked", "stacked, gate and up fused", ...
  int experts = 0;
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;
  bool gated = false;

  std::int64_t matrices = 0;  ///< that were read
  std::int64_t weights = 0;   ///< elements of those
  std::int64_t code_bytes = 0;
  std::int64_t scale_bytes = 0;  ///< = blocks

  std::vector<ScaleBin> scale_histogram;  ///< 0, the subnormals, then every power of two up to [256, 512)
  float largest_scale = 0.0F;             ///< 448 in a sound checkpoint; 256 or 384 with four-over-six
  std::int64_t zero_scales = 0;           ///< 0x00 and 0x80
  std::int64_t negative_zero_scales = 0;  ///< 0x80
  std::int64_t max_scales = 0;            ///< 0x7E, 448
  std::int64_t nan_scales = 0;            ///< 0x7F
  std::int64_t sign_bit_scales = 0;       ///< 0x81 to 0xFF
  std::int64_t zero_codes = 0;            ///< codes 0 and 8
  std::int64_t negative_zero_codes = 0;   ///< code 8
  std::int64_t zero_scales_with_codes = 0;

  ScaleSpread global_scales;  ///< multipliers, amax / 2688
  std::int64_t global_scale_outliers = 0;
  GateUpPairs gate_up;
  ScaleSpread input_scales;               ///< multipliers, of the matrices that have one
  std::int64_t missing_input_scales = 0;  ///< matrices without one, or with 0

  std::vector<Finding> findings;
};

/// Layers with routed experts of any format, ascending; Checkpoint::layers() are those with NVFP4.
std::vector<int> expert_layers(const Checkpoint& checkpoint);

/// Reads every byte of a layer's experts, an expert at a time, and gives its pages back: a checkpoint of any size
/// streams through. An error only where the checkpoint has no such layer.
Result<LayerReport> report_layer(const Checkpoint& checkpoint, int layer);

}  // namespace tilewright
