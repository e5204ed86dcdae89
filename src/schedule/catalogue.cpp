#include "tilewright/catalogue.hpp"

#include <algorithm>
#include <limits>
#include <span>

#include "schedule/limits.hpp"

namespace tilewright {
namespace {

std::span<const CatalogueTile> gpu_tiles(Arch arch) {
  switch (kernel_arch(arch)) {
    case Arch::sm_90: return kSm90Tiles;
    case Arch::sm_120: return kSm120Tiles;
    default: return {};
  }
}

// A kernel shape with two stages, one block a SM and no split.
Schedule base_schedule(const Device& device, const GemmProblem& problem, const CatalogueTile& tile) {
  const bool hopper = device.arch == Arch::sm_90;
  Schedule s;
  s.arch = kernel_arch(device.arch);
  s.precision = problem.precision;
  s.mma = hopper ? Mma::wgmma_rs_bf16 : Mma::mma_mxf4nvf4;
  s.tile_m = tile.m;
  s.tile_n = tile.n;
  s.tile_k = tile.k;
  s.stages = 2;
  // setmaxnreg moves registers between whole warpgroups, so on SM90 the producer is one.
  s.roles = {hopper ? 4 : 1, tile.consumer_warps, Consumers::cooperative};
  s.epilogue = problem.epilogue;
  return s;
}

Schedule cpu_schedule(const GemmProblem& problem, Mma mma, int tile_n, int tile_k) {
  Schedule s;
  s.precision = problem.precision;
  s.mma = mma;
  s.tile_m = kCpuTileM;
  s.tile_n = tile_n;
  s.tile_k = tile_k;
  s.roles = {0, 1, Consumers::cooperative};
  s.epilogue = problem.epilogue;
  return s;
}

std::vector<Schedule> cpu_candidates(const GemmProblem& problem) {
  std::vector<Schedule> all;
  for (const int tile_n : kCpuTokenTiles) {
    all.push_back(cpu_schedule(problem, Mma::cpu_stream, tile_n, kCpuPanels.front()));
  }
  for (const int panel : kCpuPanels) all.push_back(cpu_schedule(problem, Mma::cpu_panel, kCpuTokenTiles.back(), panel));
  return all;
}

std::int64_t tiles_of(const GemmProblem& problem, const Schedule& s) {
  std::int64_t token_tiles = 0;
  for (const auto& bin : problem.rows.bins) token_tiles += bin.experts * (round_up(bin.rows, s.tile_n) / s.tile_n);
  return token_tiles * (round_up(problem.n, s.tile_m) / s.tile_m);
}

// The variants of a schedule at its deepest ring: dealt evenly, split, and with a second block on each SM.
void add_variants(const Device& device, const GemmProblem& problem, const Schedule& deepest,
                  std::vector<Schedule>& all) {
  Schedule stream = deepest;
  stream.split = {SplitKind::stream_k, 1};
  all.push_back(stream);
  // A split of K only pays while there are fewer tiles than SMs; half of them is the last useful case of two parts.
  const std::int64_t tiles = tiles_of(problem, deepest);
  const std::int64_t k_blocks = round_up(problem.k, deepest.tile_k) / deepest.tile_k;
  for (const int parts : {2, 4, 8}) {
    if (tiles * parts > 2 * device.sm_count || k_blocks < 2 * parts) break;
    Schedule split = deepest;
    split.split = {SplitKind::split_k, parts};
    all.push_back(split);
  }
  if (deepest.roles.consumers == Consumers::pingpong) return;
  Schedule pair = deepest;
  pair.ctas_per_sm = 2;
  while (pair.stages > 2 && schedule::resident_bytes(device, pair) > device.smem_per_sm) --pair.stages;
  const bool fits = schedule::resident_bytes(device, pair) <= device.smem_per_sm &&
                    schedule::registers_needed(pair) <= schedule::registers_available(device, pair);
  if (fits) all.push_back(pair);
}

void add_tile(const Device& device, const GemmProblem& problem, const Schedule& base, std::vector<Schedule>& all) {
  const int most = schedule::largest_stages(device, base);
  Schedule s = base;
  for (s.stages = 2; s.stages <= std::max(most, 1) + 1; ++s.stages) all.push_back(s);
  if (most < 2) return;
  s.stages = most;
  add_variants(device, problem, s, all);
}

double ratio(int a, int b) { return a > b ? static_cast<double>(a) / b : static_cast<double>(b) / a; }

Schedule gpu_schedule_for_tile(const Device& device, const GemmProblem& problem, const TileSpec& wanted) {
  CatalogueTile nearest{};
  double best = std::numeric_limits<double>::infinity();
  for (const CatalogueTile& tile : gpu_tiles(device.arch)) {
    const double distance = ratio(tile.m, wanted.m) * ratio(tile.n, wanted.n) * ratio(tile.k, wanted.k);
    if (distance >= best) continue;
    best = distance;
    nearest = tile;
  }
  nearest.m = wanted.m;
  nearest.n = wanted.n;
  nearest.k = wanted.k;
  Schedule s = base_schedule(device, problem, nearest);
  s.stages = wanted.stages > 0 ? wanted.stages : std::max(2, schedule::largest_stages(device, s));
  return s;
}

}  // namespace

std::vector<Schedule> candidates(const Device& device, const GemmProblem& problem) {
  if (device.arch == Arch::cpu) return cpu_candidates(problem);
  std::vector<Schedule> all;
  for (const CatalogueTile& tile : gpu_tiles(device.arch)) {
    Schedule base = base_schedule(device, problem, tile);
    add_tile(device, problem, base, all);
    if (!tile.pingpong) continue;
    base.roles.consumers = Consumers::pingpong;
    add_tile(device, problem, base, all);
  }
  return all;
}

Schedule schedule_for_tile(const Device& device, const GemmProblem& problem, const TileSpec& tile) {
  if (device.arch != Arch::cpu) return gpu_schedule_for_tile(device, problem, tile);
  const Mma mma = tile.n >= problem.rows.max() ? Mma::cpu_stream : Mma::cpu_panel;
  Schedule s = cpu_schedule(problem, mma, tile.n, tile.k);
  s.tile_m = tile.m;
  return s;
}

bool in_catalogue(const Schedule& s) {
  if (on_cpu(s.mma)) {
    const auto candidates_of = cpu_candidates({});
    return std::any_of(candidates_of.begin(), candidates_of.end(), [&](const Schedule& c) {
      return c.mma == s.mma && c.tile_m == s.tile_m && c.tile_n == s.tile_n && c.tile_k == s.tile_k;
    });
  }
  const auto tiles = gpu_tiles(s.arch);
  return std::any_of(tiles.begin(), tiles.end(), [&](const CatalogueTile& tile) {
    return tile.m == s.tile_m && tile.n == s.tile_n && tile.k == s.tile_k &&
           (tile.pingpong || s.roles.consumers == Consumers::cooperative);
  });
}

}  // namespace tilewright
