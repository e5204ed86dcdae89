// The catalogue: the tiles that kernels exist for. The planner offers these and no others.
#pragma once

#include <array>
#include <vector>

#include "tilewright/device.hpp"
#include "tilewright/problem.hpp"
#include "tilewright/schedule.hpp"

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

/// SM90, w4a16: a warpgroup of consumers for each 64 weight rows (reference: the probe of an RS kernel on an H200,
/// where 256 rows and a long K step are best for few tokens, and 128 x 256 x 64 for many).
inline constexpr std::array<CatalogueTile, 17> kSm90Tiles = {{
    {256, 8, 256, 16, false},
    {256, 8, 512, 16, false},
    {128, 8, 256, 8, false},
    {128, 8, 512, 8, false},
    {256, 16, 256, 16, false},
    {256, 16, 512, 16, false},
    {128, 16, 256, 8, false},
    {128, 16, 512, 8, false},
    {256, 32, 256, 16, false},
    {128, 32, 256, 8, false},
    {128, 32, 512, 8, false},
    {256, 64, 256, 16, false},
    {128, 64, 128, 8, false},
    {128, 64, 256, 8, false},
    {128, 128, 64, 8, false},
    {128, 128, 128, 8, false},
    {128, 256, 64, 8, false},
}};

/// CPU: strips of 16 weight rows, token tiles that fit the vector registers.
inline constexpr int kCpuTileM = 16;
inline constexpr std::array<int, 4> kCpuTokenTiles = {1, 2, 3, 4};
inline constexpr std::array<int, 3> kCpuPanels = {256, 512, 1024};

/// Every schedule to consider for a problem on a device, legal or not: each tile with stage counts from two to the
/// first that is too many, with and without splits and a second resident block. Empty where no kernel exists. The order
/// is fixed.
std::vector<Schedule> candidates(const Device& device, const GemmProblem& problem);

/// A schedule for any tile, with the roles that the nearest catalogue tile has: what --why-not asks about.
Schedule schedule_for_tile(const Device& device, const GemmProblem& problem, const TileSpec& tile);

/// Whether the tile (m, n, k) of a schedule is in its architecture's catalogue.
bool in_catalogue(const Schedule& schedule);

}  // namespace tilewright
