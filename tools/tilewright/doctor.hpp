// tilewright info --doctor: the compilers, driver and devices of this machine, and what of this build runs on them.
#pragma once

#include "tools/tilewright/report.hpp"

namespace tilewright::cli {

/// Adds the findings to an info report: `doctor{toolkits[], driver{...}, build{...}, findings[]}`.
void add_doctor(Report& report);

}  // namespace tilewright::cli
