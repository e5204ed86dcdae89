// The catalogue: the tiles that kernels exist for. The planner offers these and no others.
#pragma once

#include <array>
#include <vector>

#include "tilewright/device.hpp"
#include "tilewright/problem.hpp"
#include "tilewright/schedule.hpp"
#include "tilewright/sm90_catalogue.hpp"

namespace tilewright {

/// One kernel shape: everything of a Schedule but stages, split, epilogue and resident blocks.
struct CatalogueTile {
  int m;
  int n;
  int k;
  int consumer_warps;
  bool pingpong;  ///< built with pingpong consumers too
};

/// SM120 and SM121, w4a4: mma.sync mxf4nvf4, 8 consumer warps.
inline constexpr std::array<CatalogueTile, 12> kSm120Tiles = {{
    {128, 128, 128, 8, true},
    {128, 128, 256, 8, true},
    {128, 256, 128, 8, false},
    {256, 128, 128, 8, false},
    {128, 8, 128, 8, false},
    {128, 8, 256, 8, false},
    {128, 16, 128, 8, false},
    {128, 16, 256, 8, false},
    {128, 32, 128, 8, false},
    {128, 32, 256, 8, false},
    {128, 64, 128, 8, true},
    {128, 64, 256, 8, true},
}};

/// CPU: strips of 16 weight rows, streamed a group of 64 k at a time or expanded; the rest is of the device (CpuWalks).
inline constexpr int kCpuTileM = 16;
inline constexpr int kCpuStreamK = 64;

/// Every schedule to consider for a problem on a device. SM90: those of the kernels that are built
/// (sm90_catalogue.hpp). SM120, legal or not: each tile with stage counts from two to the first that is too many, with
/// and without splits and a second resident block. Empty where no kernel exists. The order is fixed.
std::vector<Schedule> candidates(const Device& device, const GemmProblem& problem);

/// A schedule for any tile, with the roles that the nearest catalogue tile has: what --why-not asks about.
Schedule schedule_for_tile(const Device& device, const GemmProblem& problem, const TileSpec& tile);

/// Whether a schedule is in the device's catalogue: as it is on SM90, by its tile (m, n, k) elsewhere.
bool in_catalogue(const Device& device, const Schedule& schedule);

}  // namespace tilewright
