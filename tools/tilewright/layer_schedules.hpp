// The kernels of a layer on the device, as the answers of run and bench name them.
#pragma once

#include "tilewright/cuda_layer.hpp"
#include "tools/tilewright/report.hpp"

namespace tilewright::cli {

/// {"gemm1": "128x16x128, ...", "gemm2": ...}.
inline Json schedules_json(const LayerSchedules& schedules) {
  return {{"gemm1", describe(schedules.gemm1)}, {"gemm2", describe(schedules.gemm2)}};
}

}  // namespace tilewright::cli
