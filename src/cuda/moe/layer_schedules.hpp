// Which kernels a layer takes for a number of tokens: the planner's choice, made once for a ladder of token
// counts, or one that was given.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/device.hpp"
#include "tilewright/activation.hpp"
#include "tilewright/arch.hpp"
#include "tilewright/cuda_layer.hpp"
#include "tilewright/planner.hpp"
#include "tilewright/precision.hpp"
#include "tilewright/result.hpp"

namespace tilewright::cuda {

struct LayerShape {
  int experts = 0;  ///< local
  int global_experts = 0;
  int top_k = 0;
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;
  bool gated = true;
};

/// Whose kernels run a layer, and how.
struct KernelSet {
  Arch arch = Arch::sm_90;
  Precision precision = Precision::w4a16;
  bool requantizes_rows = false;  ///< w4a4 without GEMM2's input scales: GEMM1 ends in bf16
};

/// Both GEMMs as the planner chooses them for `tokens` tokens on this GPU, with what it predicts. Kernels of another
/// architecture than the GPU's are chosen as that architecture's default device with as many SMs would have them.
struct LayerPlan {
  Candidate gemm1;
  Candidate gemm2;
};
Result<LayerPlan> plan_layer(const GpuInfo& gpu, const LayerShape& shape, int tokens, const KernelSet& kernels = {});

class ScheduleLadder {
 public:
  /// Plans every rung for this GPU.
  static Result<ScheduleLadder> plan(const GpuInfo& gpu, const LayerShape& shape, const KernelSet& kernels = {});

  /// Replaces the rung of as many tokens, or adds one.
  void use(const ScheduleRung& rung);

  /// Of the lowest rung that is not below `tokens`, or the highest.
  [[nodiscard]] LayerSchedules at(int tokens) const;

 private:
  std::vector<ScheduleRung> rungs_;  ///< by tokens
};

}  // namespace tilewright::cuda
