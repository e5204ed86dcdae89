// Writing a checkpoint directory: quantized matrices under a dialect's names, the config files, all or nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tilewright/quantize.hpp"
#include "tilewright/safetensors.hpp"

namespace tilewright {

/// A directory that is filled under a temporary name beside its own, and appears under its own when committed.
class PendingDirectory {
 public:
  /// Refuses a destination that exists and is not an empty directory.
  static Result<PendingDirectory> create(const std::string& destination);

  PendingDirectory(PendingDirectory&& other) noexcept;
  PendingDirectory& operator=(PendingDirectory&&) = delete;
  PendingDirectory(const PendingDirectory&) = delete;
  PendingDirectory& operator=(const PendingDirectory&) = delete;
  ~PendingDirectory();

  /// Path of a file inside it, until it is committed.
  [[nodiscard]] std::string file(const std::string& name) const;
  Status write_text(const std::string& name, const std::string& text) const;
  Status commit();

 private:
  PendingDirectory(std::string destination, std::string temporary);

  std::string destination_;
  std::string temporary_;  ///< empty once committed or moved from
};

/// One quantized matrix.
struct EncodedMatrix {
  std::string module;  ///< the tensors' common name, e.g. "model.layers.0.mlp.experts.3.gate_proj"
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
  float stored_global_scale = 1.0F;  ///< in the dialect's convention
  float stored_input_scale = 1.0F;
};

/// The global scale as `dialect` stores it, and what a reader makes of a stored one.
float stored_scale(float multiplier, Dialect dialect);

/// Appends the tensors of a matrix. They are views of it.
void append_tensors(const EncodedMatrix& matrix, const QuantizeOptions& options, std::vector<TensorData>& tensors);

/// Names of modules that stay as they are: engines must be told not to expect scales for them.
using Modules = std::vector<std::string>;

/// config.json's quantization_config.
nlohmann::json quantization_config(const QuantizeOptions& options, const Modules& unquantized);

/// The text of hf_quant_config.json.
std::string hf_quant_config(const QuantizeOptions& options, const Modules& unquantized);

/// The text of model.safetensors.index.json.
std::string index_text(const std::vector<std::pair<std::string, std::string>>& tensor_and_file, std::int64_t bytes);

}  // namespace tilewright
