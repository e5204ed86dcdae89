// The experts of a layer packed on the device.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/device_buffer.hpp"
#include "cuda/packed_matrix.hpp"
#include "tilewright/expert_weights.hpp"
#include "tilewright/result.hpp"

namespace tilewright::cuda {

/// A copy on the device.
Result<DeviceBuffer> upload(const std::vector<float>& values);

struct DeviceWeights {
  DeviceBuffer gemm1;  ///< expert after expert, gate and up interleaved (packed_matrix.hpp)
  DeviceBuffer gemm2;
  DeviceBuffer scales1;  ///< [experts][2] fp32: GemmParams::row_scales
  DeviceBuffer scales2;
  std::int64_t stride1 = 0;  ///< bytes of an expert
  std::int64_t stride2 = 0;

  /// Packs on all cores, an expert at a time on each, and copies; file pages are given back as it goes. The scales are
  /// the global ones times `factor1`, and those of expert e's GEMM2 times `factors2[e]`.
  static Result<DeviceWeights> pack(const ExpertWeights& weights, WeightOrder order, float factor1,
                                    const std::vector<float>& factors2);
};

}  // namespace tilewright::cuda
