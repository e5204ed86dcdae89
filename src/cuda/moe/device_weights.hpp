// The experts of a layer packed on the device.
#pragma once

#include <cstdint>

#include "cuda/device_buffer.hpp"
#include "tilewright/expert_weights.hpp"
#include "tilewright/result.hpp"

namespace tilewright::cuda {

struct DeviceWeights {
  DeviceBuffer gemm1;  ///< expert after expert, gate and up interleaved (packed_matrix.hpp)
  DeviceBuffer gemm2;
  DeviceBuffer scales1;  ///< [experts][2] fp32: GemmParams::row_scales
  DeviceBuffer scales2;
  std::int64_t stride1 = 0;  ///< bytes of an expert
  std::int64_t stride2 = 0;

  /// Packs on all cores, an expert at a time on each, and copies; file pages are given back as it goes.
  static Result<DeviceWeights> pack(const ExpertWeights& weights);
};

}  // namespace tilewright::cuda
