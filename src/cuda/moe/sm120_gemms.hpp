// A layer's two GEMMs as SM120's kernels take them, whatever the tokens are: what their launches have in common.
#pragma once

#include <cstdint>

#include "cuda/moe/device_weights.hpp"
#include "cuda/moe/expert_gemms.hpp"
#include "cuda/moe/moe_kernels.hpp"

namespace tilewright::cuda {

class Sm120Gemms {
 public:
  /// GEMM1 ends with `first_ending`, GEMM2 with finalize.
  Sm120Gemms(const ExpertsSetup& setup, Precision precision, sm120::MmaPolicy policy, Epilogue first_ending,
             DeviceWeights weights);

  /// Readies every kernel that a schedule may name, and finds out what stream-K needs.
  Status prepare();

  [[nodiscard]] const LayerShape& shape() const { return setup_.shape; }
  /// `partials` and `flags` alone.
  [[nodiscard]] ExpertsBytes bytes() const;
  [[nodiscard]] std::int64_t packed_bytes() const { return weights_.gemm1.bytes() + weights_.gemm2.bytes(); }
  [[nodiscard]] Status check(const LayerSchedules& schedules) const;

  /// Everything but scales of tokens and, of GEMM1, where it ends: `inner` here, with as many channels a row.
  [[nodiscard]] sm120::GemmParams first_params(const ExpertsRun& run) const;
  [[nodiscard]] sm120::GemmParams second_params(const ExpertsRun& run) const;
  [[nodiscard]] Status launch(const ExpertsRun& run, const Schedule& schedule, const sm120::GemmParams& params) const;

  /// The run's tokens, or its slots where weights scale the inputs, on their way to `rows`.
  [[nodiscard]] RowItems token_items(const ExpertsRun& run) const;

 private:
  [[nodiscard]] Status check_ending(const Schedule& schedule, Epilogue ending) const;
  [[nodiscard]] sm120::GemmParams common_params(const ExpertsRun& run) const;

  ExpertsSetup setup_;
  Precision precision_;
  sm120::MmaPolicy policy_;
  Epilogue first_ending_;
  DeviceWeights weights_;
  std::int64_t partial_bytes_ = 0;
  std::int64_t flag_bytes_ = 0;
};

}  // namespace tilewright::cuda
