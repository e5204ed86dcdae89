// One matrix of an expert: from checked tensors to a view with its scales in one convention.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/layer_tensors.hpp"
#include "tilewright/checkpoint.hpp"
#include "tilewright/expert_weights.hpp"

namespace tilewright {

/// Where a matrix stands, for messages and for finding it inside stacked and fused tensors.
struct MatrixPlace {
  int layer = 0;
  int expert = 0;
  int experts = 0;
  bool stacked = false;
  bool interleaved = false;  ///< fused rows alternate gate, up
  Projection projection = Projection::gate;
  std::int64_t first_row = 0;  ///< of a tensor-parallel slice, so that messages count as the file does
  std::int64_t first_block = 0;

  /// "layer 3, expert 17, gate_proj".
  [[nodiscard]] std::string text() const;
};

/// The place of a whole matrix of `layer`; `interleaved`: CheckpointContents::interleaved_gate_up.
MatrixPlace place_of(const LayerTensors& layer, bool interleaved, int expert, Projection projection);

/// The whole matrix of `place` as a view. Checks names, dtypes and shapes, and the global scale. The view's
/// input_scale stays empty.
Result<Nvfp4Matrix> view_matrix(const MatrixPlace& place, const ExpertTensors& tensors, std::vector<Finding>* findings);

/// The input scale as a multiplier; none where the file has none or holds the 0 of an expert that calibration never
/// reached.
Result<std::optional<float>> read_input_scale(const MatrixPlace& place, const ExpertTensors& tensors);

/// Gives back the memory behind a view.
void release_matrix(const TensorFiles& files, const Nvfp4Matrix& matrix);

/// Reads every scale byte of a view. NaN (0x7F) and set sign bits are errors with row and block. Returns how many are
/// 0x80, a negative zero, which reads as zero.
Result<std::int64_t> check_scale_bytes(const MatrixPlace& place, const Nvfp4Matrix& matrix);

}  // namespace tilewright
