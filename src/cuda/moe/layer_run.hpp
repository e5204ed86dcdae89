// The launches of one layer, in their order.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/moe/device_weights.hpp"
#include "cuda/moe/layer_schedules.hpp"
#include "cuda/moe/workspace.hpp"
#include "cuda/sm90/grouped_gemm.hpp"
#include "tilewright/cuda_layer.hpp"

namespace tilewright::cuda {

/// What a layer is, besides its schedules.
struct LayerParts {
  Routing routing;
  Activation activation;
  LayerShape shape;
  int first_expert = 0;
  int sm_count = 0;
  DeviceWeights weights;
};

struct LayerKernels {
  const sm90::BuiltGemm* gemm1 = nullptr;
  const sm90::BuiltGemm* gemm2 = nullptr;
};

/// Whether the slots' weights scale the experts' inputs, and how many slots a token has, in this batch.
bool scales_input(const LayerParts& parts, const CudaBatch& batch);
int slots_per_token(const LayerParts& parts, const CudaBatch& batch);

/// Enqueues route (of a batch with logits), sort, whatever puts tokens where GEMM1 reads them, both GEMMs and the
/// combine. The batch has been checked and has tokens; scaled inputs are gathered, not arranged.
Status enqueue_layer(const LayerParts& parts, const CudaBatch& batch, const LayerKernels& kernels,
                     const WorkspaceLayout& layout, void* workspace, cudaStream_t stream);

}  // namespace tilewright::cuda
