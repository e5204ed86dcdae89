// Checkpoints: finding the NVFP4 experts of a model's layers, whatever the exporter called them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilewright/expert_weights.hpp"
#include "tilewright/model.hpp"
#include "tilewright/result.hpp"
#include "tilewright/safetensors.hpp"

namespace tilewright {

enum class Dialect { modelopt, compressed_tensors };
const char* to_string(Dialect dialect);

/// What a tensor-parallel split does with an I that does not give every rank whole 16-blocks.
enum class TpPadding {
  refuse,         ///< an error that names layer, I, degree and the block that would be cut
  pad_to_blocks,  ///< I grows to the next multiple of 16 * tp; the added channels are zero codes with zero scales
};

/// The slice of a layer that one rank loads. Gate and up are split (and padded) each on its own.
struct Slice {
  int tp = 1;
  int tp_rank = 0;
  int ep = 1;
  int ep_rank = 0;  ///< experts are split in contiguous runs; the first E % ep ranks get one more
  TpPadding padding = TpPadding::refuse;
};

/// Something worth telling that does not stop a load, e.g. an input scale filled from its siblings.
struct Finding {
  std::string code;     ///< stable, e.g. "gate_up_scale_mismatch"
  std::string message;  ///< one line with layer, expert, tensor and value
};

/// An opened checkpoint directory (or single file).
class Checkpoint {
 public:
  static Result<Checkpoint> open(const std::string& path);

  [[nodiscard]] const TensorFiles& files() const { return files_; }
  /// Layers with routed NVFP4 experts, ascending.
  [[nodiscard]] const std::vector<int>& layers() const { return layers_; }
  /// Facts from config.json beside the tensors; an error where there is none or it is not supported.
  [[nodiscard]] const Result<ModelFacts>& model() const { return model_; }

  /// The experts of one layer as views. `findings` (may be null) receives what was repaired or is odd.
  [[nodiscard]] Result<ExpertWeights> load_layer(int layer, const Slice& slice = {}, std::vector<Finding>* findings = nullptr) const;

 private:
  TensorFiles files_;
  std::vector<int> layers_;
  Result<ModelFacts> model_ = fail(ErrorCode::not_found, "no config.json");
  std::shared_ptr<const void> index_;
};

}  // namespace tilewright
