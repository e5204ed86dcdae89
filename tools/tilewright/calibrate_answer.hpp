// The constants that `tilewright calibrate` measured, beside the model's.
#pragma once

#include <string>
#include <vector>

#include "cuda/meter/calibration.hpp"
#include "tilewright/device.hpp"
#include "tilewright/tuning_cache.hpp"
#include "tools/tilewright/report.hpp"

namespace tilewright::cli {

struct CalibratedConstant {
  std::string name;  ///< as the model calls it
  std::string unit;
  double measured = 0;
  double model = 0;   ///< what the model uses; 0 where it uses none
  std::string how;    ///< what was done to measure it
  std::string where;  ///< where the model has it
};

struct CalibrateAnswer {
  TunedOn on;
  Device device;  ///< that the planner takes it for
  std::vector<CalibratedConstant> constants;
};

/// What follows for each constant of the model from what was measured.
std::vector<CalibratedConstant> constants_of(const cuda::Calibration& measured, const Device& device);

Report calibrate_report(const CalibrateAnswer& answer);

}  // namespace tilewright::cli
