// The operands of a sampled GEMM on the device: random weights and activations, and the routings of its launches.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "cuda/device_buffer.hpp"
#include "cuda/moe/gemm_sampler.hpp"
#include "cuda/moe/moe_kernels.hpp"
#include "cuda/sm90/gemm_params.hpp"

namespace tilewright::cuda {

/// What does not depend on the schedule. Buffers grow and are never given back before the end.
class GemmOperands {
 public:
  /// Enqueues whatever makes the operands; routings are copied before this returns.
  Status load(const SampledGemm& gemm, std::int64_t l2_bytes, cudaStream_t stream);

  [[nodiscard]] int launches() const { return launches_; }
  [[nodiscard]] bool first() const { return gemm_.gemm == GemmId::gemm1; }
  /// Slots of all tokens: no launch has more grouped rows, padding aside.
  [[nodiscard]] std::int64_t slots() const { return std::int64_t{gemm_.tokens} * gemm_.top_k; }
  [[nodiscard]] std::int64_t y_bytes() const { return y_bytes_; }

  /// A launch; of GEMM1 with its tokens as rows. Without y and the workspace of stream-K.
  [[nodiscard]] sm90::GemmParams params(int launch) const;
  /// What puts a launch's tokens into tile order, at tiles().
  [[nodiscard]] ArrangeParams arrangement(int launch) const;
  [[nodiscard]] void* tiles() const { return tiles_.as(); }

 private:
  struct Table;

  void choose_launches(std::int64_t l2_bytes);
  Status make_weights(std::int64_t bytes, cudaStream_t stream);
  Status make_rows(cudaStream_t stream);
  Status make_routings(cudaStream_t stream);

  SampledGemm gemm_;
  int n_ = 0;
  int k_ = 0;
  int launches_ = 0;
  int copies_ = 1;
  std::int64_t group_rows_ = 0;
  std::int64_t expert_bytes_ = 0;
  std::int64_t y_bytes_ = 0;
  std::int64_t table_bytes_ = 0;  ///< of one launch
  DeviceBuffer weights_, row_scales_, x_, tiles_, ids_, slot_weights_, tables_;
  int scaled_experts_ = 0;
};

}  // namespace tilewright::cuda
