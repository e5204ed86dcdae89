// The expert layer on the CPU: gather, GEMM1, activation, GEMM2, combine.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "cpu/isa.hpp"
#include "cpu/kernels.hpp"
#include "tilewright/activation.hpp"
#include "tilewright/expert_weights.hpp"
#include "tilewright/float_types.hpp"
#include "tilewright/precision.hpp"
#include "tilewright/result.hpp"
#include "tilewright/routing.hpp"

namespace tilewright::cpu {

struct CpuExpertsOptions {
  Precision precision = Precision::w4a16;
  IsaTier tier = IsaTier::portable;
  int threads = 1;        ///< more than the process may use are as many as it may
  int panel_k = kPanelK;  ///< K of an expanded weight panel; a multiple of 64
};

/// The packed experts of one layer with everything that a run needs. A run allocates only while its sizes grow, and
/// its result does not depend on the number of threads. Not for two runs at the same time.
class CpuExperts {
 public:
  /// Packs `weights` (their file pages are given back as it goes) for one precision.
  static Result<CpuExperts> create(const ExpertWeights& weights, const Activation& activation,
                                   const CpuExpertsOptions& options);
  CpuExperts(CpuExperts&&) noexcept;
  CpuExperts& operator=(CpuExperts&&) noexcept;
  ~CpuExperts();

  /// y[t, :] = sum over the slots of t of weight * expert(x[t]); x is [tokens, H] bf16, y [tokens, H] fp32, row-major.
  /// Ids are global; -1 and experts of other ranks add nothing. The contract is that of cpu::reference_layer.
  Status run(const bf16* x, const RoutedTokens& routed, float* y);

  [[nodiscard]] std::int64_t hidden() const;
  [[nodiscard]] std::span<const std::uint8_t> packed_memory() const;

 private:
  struct State;
  explicit CpuExperts(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tilewright::cpu
