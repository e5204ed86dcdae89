// The launches of one layer, in their order.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "cuda/moe/expert_gemms.hpp"
#include "cuda/moe/layer_schedules.hpp"
#include "cuda/moe/workspace.hpp"
#include "tilewright/cuda_layer.hpp"

namespace tilewright::cuda {

/// What a layer is, besides its schedules.
struct LayerParts {
  Routing routing;
  Activation activation;
  LayerShape shape;
  int first_expert = 0;
  std::unique_ptr<ExpertGemms> gemms;
};

/// Whether the slots' weights scale the experts' inputs, and how many slots a token has, in this batch.
bool scales_input(const LayerParts& parts, const CudaBatch& batch);
int slots_per_token(const LayerParts& parts, const CudaBatch& batch);

/// Enqueues route (of a batch with logits), sort, the GEMMs with what they need around them, and the combine. Batch and
/// schedules have been checked, and there are tokens.
Status enqueue_layer(const LayerParts& parts, const CudaBatch& batch, const LayerSchedules& schedules,
                     const WorkspaceLayout& layout, void* workspace, cudaStream_t stream);

}  // namespace tilewright::cuda
