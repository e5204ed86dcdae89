// The two GEMMs of a layer on one architecture's kernels, with what brings the tokens to the first and the
// intermediate to the second.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

#include "cuda/grouped/row_range.hpp"
#include "cuda/moe/layer_schedules.hpp"
#include "cuda/moe/workspace.hpp"
#include "cuda/sm120/grouped_gemm.hpp"
#include "tilewright/activation.hpp"
#include "tilewright/cuda_layer.hpp"
#include "tilewright/expert_weights.hpp"

namespace tilewright::cuda {

/// What a run of the GEMMs works on, all in device memory: the batch, and what the sort left of it.
struct ExpertsRun {
  const void* x = nullptr;  ///< [tokens, H] bf16
  int tokens = 0;
  int top_k = 0;
  int slots = 0;
  const float* input_weights = nullptr;  ///< [slots] that scale the inputs, or null; then row_source names slots
  const RowRange* ranges = nullptr;      ///< [experts]
  const std::int32_t* row_source = nullptr;
  const std::int32_t* row_dest = nullptr;
  const float* row_weights = nullptr;
  const std::int32_t* slot_rows = nullptr;
  std::int64_t group_rows = 0;
  float* partials = nullptr;
  unsigned* flags = nullptr;      ///< zero
  float* input_scales = nullptr;  ///< the buffers of ExpertsBytes
  void* unquantized = nullptr;
  void* inner = nullptr;
  void* rows = nullptr;  ///< arranged tokens first, then the result: [slots, H] bf16, weighted
  cudaStream_t stream = nullptr;
};

class ExpertGemms {
 public:
  virtual ~ExpertGemms() = default;

  /// What runs of up to this many slots in this many grouped rows need, with any schedule.
  [[nodiscard]] virtual ExpertsBytes bytes(std::int64_t slots, std::int64_t group_rows) const = 0;
  [[nodiscard]] virtual std::int64_t packed_bytes() const = 0;
  /// `unsupported` where there is no kernel of a schedule, for inputs that are scaled or not.
  [[nodiscard]] virtual Status check(const LayerSchedules& schedules, bool scales_input) const = 0;
  /// Enqueues schedules that were checked.
  virtual Status enqueue(const ExpertsRun& run, const LayerSchedules& schedules) const = 0;
};

/// What the GEMMs are made for, besides the weights.
struct ExpertsSetup {
  LayerShape shape;
  Activation activation;
  int sm_count = 0;
};

/// w4a16 on SM90's kernels.
Result<std::unique_ptr<ExpertGemms>> make_sm90_experts(const ExpertWeights& weights, const ExpertsSetup& setup);

/// w4a4 on SM120's kernels with this MMA. Input scales by the rules of numerics/input_scales.hpp; `unsupported` where
/// some experts have a down input scale and some have none.
Result<std::unique_ptr<ExpertGemms>> make_sm120_experts(const ExpertWeights& weights, const ExpertsSetup& setup,
                                                        sm120::MmaPolicy policy);

/// w4a16 on SM120's kernels. Their MMA is SM90's own too: the policy only says which GPU this is.
Result<std::unique_ptr<ExpertGemms>> make_sm120_w4a16_experts(const ExpertWeights& weights, const ExpertsSetup& setup,
                                                              sm120::MmaPolicy policy);

}  // namespace tilewright::cuda
