// Making NVFP4 checkpoints: from trained experts in 16 or 32 bits, or synthetic ones of a model's shape.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tilewright/checkpoint.hpp"
#include "tilewright/model.hpp"
#include "tilewright/nvfp4.hpp"
#include "tilewright/result.hpp"

namespace tilewright {

struct QuantizeOptions {
  ScaleSelection selection = ScaleSelection::amax;
  Dialect dialect = Dialect::modelopt;
  bool share_gate_up_scale = true;   ///< one global scale for an expert's gate and up, from the larger of both
  std::optional<float> input_scale;  ///< written for every matrix (amax / 2688 of the activations); none: dynamic
};

/// What quantization did to one matrix.
struct MatrixQuantization {
  std::string name;  ///< of the quantized module, e.g. "model.layers.0.mlp.experts.3.gate_proj"
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  float amax = 0.0F;
  float global_scale = 0.0F;
  double signal = 0.0;           ///< sum of squares of the weights
  double noise = 0.0;            ///< sum of squares of the errors
  double max_error = 0.0;        ///< largest |error|
  std::int64_t zero_blocks = 0;  ///< blocks of zeros, scale 0x00

  /// Signal-to-noise ratio in dB; infinite where there is no error.
  [[nodiscard]] double snr_db() const;
};

struct QuantizeReport {
  std::vector<MatrixQuantization> matrices;
  std::int64_t passed_through = 0;  ///< tensors written as they were
  std::int64_t bytes_in = 0;        ///< of tensors
  std::int64_t bytes_out = 0;

  /// Signal-to-noise ratio over all matrices, in dB.
  [[nodiscard]] double snr_db() const;
};

/// Quantizes the routed experts of `source`, a safetensors file or a directory of them in BF16, F16 or F32, into
/// the new directory `destination`: model.safetensors (or the source's shards and an index), config.json with the
/// quantization_config where the source has one, and hf_quant_config.json. Experts may be one tensor a matrix or
/// stacked; they are written one tensor a matrix. Every other tensor is written as it is. The directory appears when
/// it is complete, and not at all on an error: a NaN or infinity names its tensor and element, a K that is no multiple
/// of 16 its tensor.
Result<QuantizeReport> quantize_checkpoint(const std::string& source, const std::string& destination,
                                           const QuantizeOptions& options = {});

/// Quantizes one matrix of fp32 values, row-major [rows, cols], under a global scale. codes has rows * cols / 2 bytes
/// and scales rows * cols / 16. `name` stays empty.
MatrixQuantization quantize_matrix(const float* values, std::int64_t rows, std::int64_t cols, float global_scale,
                                   ScaleSelection selection, std::uint8_t* codes, std::uint8_t* scales);

/// Writes a checkpoint of `layers` expert layers of a model's shape into the new directory `destination`: normal
/// weights of a realistic spread, quantized by the same recipe, bf16 routers (`mlp.gate.weight`), and a config.json
/// that reads back as `facts`. The same seed gives the same bytes. Files are complete or absent, as above.
Result<QuantizeReport> write_synthetic_checkpoint(const std::string& destination, const ModelFacts& facts, int layers,
                                                  std::uint64_t seed, const QuantizeOptions& options = {});

}  // namespace tilewright
