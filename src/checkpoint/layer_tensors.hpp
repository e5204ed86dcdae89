// The tensors of one layer's experts, matrix by matrix: complete, of one format, in one layout.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "checkpoint/expert_index.hpp"
#include "tilewright/checkpoint.hpp"
#include "tilewright/result.hpp"

namespace tilewright {

/// The tensors of one matrix, or of one stacked projection, by role. Null where there is none.
struct MatrixTensors {
  std::array<const ExpertTensor*, kTensorRoles> by_role{};

  [[nodiscard]] const ExpertTensor* find(TensorRole role) const { return by_role[static_cast<std::size_t>(role)]; }
  [[nodiscard]] bool present() const;
  /// ModelOpt or compressed-tensors, by the name of the codes and of the global scale.
  [[nodiscard]] Dialect dialect() const;
  [[nodiscard]] const ExpertTensor* codes() const;
};

/// The projections of one expert, or of all experts of a stacked layer. Gate and up may be fused.
struct ExpertTensors {
  MatrixTensors gate, up, gate_up, down;

  [[nodiscard]] const MatrixTensors& of(Projection projection) const;
};

struct LayerTensors {
  int layer = 0;
  int experts = 0;
  bool stacked = false;
  bool gated = false;
  std::vector<ExpertTensors> tensors;  ///< one an expert; a single one when stacked

  [[nodiscard]] const ExpertTensors& of(int expert) const {
    return stacked ? tensors.front() : tensors[static_cast<std::size_t>(expert)];
  }
};

/// Sorts a layer's tensors into matrices. Errors: mixed layouts or formats, an expert or projection that is missing,
/// a tensor that stands twice, weights that are not NVFP4, and companions that change the numbers (AWQ, SVD, biases).
/// `gated` is what the model's config says; with no config, the tensors decide. Tensors of no known role are findings.
Result<LayerTensors> gather_layer(const LayerIndex& index, const bool* gated, std::vector<Finding>* findings);

}  // namespace tilewright
