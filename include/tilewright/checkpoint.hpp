// Checkpoints: finding the NVFP4 experts of a model's layers, whatever the exporter called them.
//
// Read are ModelOpt's and compressed-tensors' names, one tensor a matrix or all experts stacked in one, gate and up
// apart or fused, with any prefix. What the tensors are decides; config.json is only checked against them. Everything
// leaves in one convention: the global scale and the input scale are fp32 multipliers (amax / 2688).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tilewright/expert_weights.hpp"
#include "tilewright/model.hpp"
#include "tilewright/result.hpp"
#include "tilewright/safetensors.hpp"

namespace tilewright {

enum class Dialect { modelopt, compressed_tensors };
const char* to_string(Dialect dialect);  ///< "modelopt", "compressed-tensors"

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

/// Something worth telling that does not stop a load. The codes:
///   gate_up_scale_mismatch  gate and up of an expert have different global scales (they are kept apart)
///   input_scale_filled      experts without an input scale got the largest of their siblings'
///   input_scale_unused      every input scale of a projection is 0: activations are quantized dynamically
///   negative_zero_scale     block scales of 0x80, which read as 0
///   global_scale_odd        a global scale far above what trained weights have
///   unmapped_tensor         a tensor of the experts that has no known role
///   format_differs          config.json speaks of another format than the tensors have
struct Finding {
  std::string code;     ///< stable
  std::string message;  ///< one line with layer, expert, tensor and value
};

/// The router of a layer, as fp32.
struct Router {
  std::vector<float> weight;          ///< [experts, hidden]
  std::int64_t hidden = 0;            ///< the model's width, which latent experts do not have
  std::vector<float> logit_bias;      ///< [experts] or empty: added to the logits (gpt-oss)
  std::vector<float> selection_bias;  ///< [experts] or empty: e_score_correction_bias, for the selection only
};

struct CheckpointContents;  // what opening a checkpoint found
struct LayerReport;

/// An opened checkpoint directory (or single file). Copies are cheap and share what was read.
class Checkpoint {
 public:
  /// Reads headers and config.json, no weights. Tensors without any NVFP4 experts open with no layers.
  static Result<Checkpoint> open(const std::string& path);

  [[nodiscard]] const TensorFiles& files() const;
  /// Layers with routed NVFP4 experts, ascending. Layers of multi-token prediction are left out.
  [[nodiscard]] const std::vector<int>& layers() const;
  /// Facts from config.json beside the tensors; an error where there is none or it is not supported.
  [[nodiscard]] const Result<ModelFacts>& model() const;

  /// The experts of one layer as views. Every scale byte of the slice is read and checked. `findings` (may be null)
  /// receives what was repaired or is odd.
  [[nodiscard]] Result<ExpertWeights> load_layer(int layer, const Slice& slice = {},
                                                 std::vector<Finding>* findings = nullptr) const;

  /// The router beside the experts of a layer; `not_found` where the file has no router weight.
  [[nodiscard]] Result<Router> load_router(int layer) const;

 private:
  explicit Checkpoint(std::shared_ptr<const CheckpointContents> contents) : contents_(std::move(contents)) {}
  friend std::vector<int> expert_layers(const Checkpoint& checkpoint);               // checkpoint_report.hpp
  friend Result<LayerReport> report_layer(const Checkpoint& checkpoint, int layer);  // checkpoint_report.hpp

  std::shared_ptr<const CheckpointContents> contents_;
};

}  // namespace tilewright
