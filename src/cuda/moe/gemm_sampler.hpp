// Timing one grouped GEMM of a layer under one schedule after the other, as a layer runs it, and checking its numbers.
//
// A sample is one replay of a CUDA graph of several launches that follow each other by dependent launch, each with
// another routing and with another copy of the weights, so that these come from device memory; as many launches as take
// about half a millisecond. A GEMM1 that takes its tokens in tile order is timed with the kernel that puts them there.
// Weights, activations and scales are random, made on the device, never zeros.
//
// A check poisons the output, replays the graph, and looks at the last launch's output: samples of every expert against
// sums in double over the packed weights, every value for being written and finite, and every value against the first
// schedule that passed, which is the default where it is checked first.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "tilewright/activation.hpp"
#include "tilewright/problem.hpp"
#include "tilewright/result.hpp"
#include "tilewright/routing.hpp"
#include "tilewright/schedule.hpp"

namespace tilewright::cuda {

/// One grouped GEMM of a layer as the rank that holds experts 0 .. experts - 1 has it.
struct SampledGemm {
  GemmId gemm = GemmId::gemm1;
  int experts = 0;  ///< local
  int tokens = 0;   ///< of the whole layer
  int top_k = 0;
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;
  Activation activation;
  double expected_us = 0;                           ///< of one launch, about
  double expected_weight_bytes = 0;                 ///< that one launch reads
  std::function<RoutedTokens(int launch)> routing;  ///< ids are global; those past the local experts have no row
};

class GemmSampler {
 public:
  /// For the current GPU. `unsupported` without CUDA in this build, and on a GPU that the kernels are not built for.
  static Result<GemmSampler> create();
  GemmSampler(GemmSampler&&) noexcept;
  GemmSampler& operator=(GemmSampler&&) noexcept;
  ~GemmSampler();

  /// Makes operands and routings; forgets the problem before. Device memory is kept and grows as problems need it.
  Status load(const SampledGemm& gemm);

  /// `mismatch` with the number of wrong values, `unsupported` where the kernel is not built.
  Status check(const Schedule& schedule);
  /// Microseconds of one launch.
  Result<double> sample(const Schedule& schedule);

 private:
  struct State;
  explicit GemmSampler(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tilewright::cuda
