// Timing one grouped GEMM of a model's layer under one kernel.
//
// Conditions: a CUDA graph of several launches, each with another routing (every token picks top_k experts at random)
// and one of two copies of the weights, so that weights come from HBM; the median of 9 replays over the launches. A
// launch may start while the one before it drains, as in a layer. A GEMM1 that takes its tokens in tile order is timed
// with the kernel that puts them there. Weights are random codes under random scales, activations random, never zeros.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/device_memory.hpp"
#include "cuda/moe/moe_kernels.hpp"
#include "cuda/sm90/grouped_gemm.hpp"

namespace tilewright::cuda {

/// Expert layers as one rank has them: every token chooses among these experts.
struct BenchModel {
  const char* name;
  int hidden;
  int intermediate;
  int experts;
  int top_k;
};

struct Timing {
  double us = 0.0;
  double spread = 0.0;
  double weight_GBps = 0.0;
  double tflops = 0.0;
};

class GemmTimer {
 public:
  GemmTimer(const BenchModel& model, bool first, int sm_count);

  /// Whether a kernel could be the fastest for this many tokens: neither much narrower nor much wider than its rows.
  [[nodiscard]] bool suits(const Schedule& schedule, int tokens) const;

  Timing time(const sm90::BuiltGemm& gemm, int tokens);

 private:
  static std::vector<double> replay(const sm90::BuiltGemm& gemm, const std::vector<sm90::GemmParams>& params,
                                    const std::vector<ArrangeParams>& arrangements, std::int64_t rows, int blocks);

  BenchModel model_;
  bool first_;
  int sm_count_;
  int n_;
  int k_;
  std::int64_t expert_bytes_;
  DeviceMemory weights_;
  DeviceMemory scales_;
};

/// GB/s of a device-to-device copy of 2 GiB, bytes read and written.
double copy_GBps();

}  // namespace tilewright::cuda
