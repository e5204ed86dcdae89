// The catalogue: the schedules that kernels exist for. The planner offers these and no others.
#pragma once

#include <vector>

#include "tilewright/device.hpp"
#include "tilewright/problem.hpp"
#include "tilewright/schedule.hpp"
#include "tilewright/sm120_catalogue.hpp"
#include "tilewright/sm90_catalogue.hpp"

namespace tilewright {

/// CPU: strips of 16 weight rows, streamed a group of 64 k at a time or expanded; the rest is of the device (CpuWalks).
inline constexpr int kCpuTileM = 16;
inline constexpr int kCpuStreamK = 64;

/// Every schedule to consider for a problem on a device. SM90: those of the kernels that are built
/// (sm90_catalogue.hpp). SM120: for each tile and its ways to share it (sm120_catalogue.hpp) stage counts from two to
/// the deepest that fits and the first one too many, which is rejected with its bytes (of w4a16's larger tiles that is
/// two); cooperative tiles at their deepest ring also as stream-K. Empty where no kernel exists, or none ends as the
/// problem asks. The order is fixed.
std::vector<Schedule> candidates(const Device& device, const GemmProblem& problem);

/// A schedule for any tile, with the roles that the nearest catalogue tile has: what --why-not asks about.
Schedule schedule_for_tile(const Device& device, const GemmProblem& problem, const TileSpec& tile);

/// Whether a schedule is in the device's catalogue: as it is on a GPU, by its tile (m, n, k) on a CPU.
bool in_catalogue(const Device& device, const Schedule& schedule);

}  // namespace tilewright
