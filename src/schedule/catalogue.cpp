#include "tilewright/catalogue.hpp"

#include <algorithm>

#include "schedule/limits.hpp"

namespace tilewright {
namespace {

// A kernel shape of SM12x with two stages, one block a SM and no split.
Schedule base_schedule(const Device& device, const GemmProblem& problem, const CatalogueTile& tile) {
  Schedule s;
  s.arch = kernel_arch(device.arch);
  s.precision = problem.precision;
  s.mma = Mma::mma_mxf4nvf4;
  s.tile_m = tile.m;
  s.tile_n = tile.n;
  s.tile_k = tile.k;
  s.stages = 2;
  s.roles = {1, tile.consumer_warps, Consumers::cooperative};
  s.epilogue = problem.epilogue;
  return s;
}

std::vector<Schedule> sm90_candidates(Epilogue epilogue) {
  std::vector<Schedule> all;
  for (const Sm90Tile& tile : kSm90Tiles) {
    for (const Sm90Ending& ending : kSm90Endings) {
      if (ending.epilogue == epilogue && tile.n >= ending.least_n) all.push_back(sm90_schedule(tile, ending));
    }
  }
  return all;
}

Schedule cpu_schedule(const Device& device, Precision precision, Mma mma) {
  const CpuWalks& walks = device.cpu.walks(precision);
  Schedule s;
  s.precision = precision;
  s.mma = mma;
  s.tile_m = kCpuTileM;
  s.tile_n = mma == Mma::cpu_stream ? walks.stream_rows : walks.panel_rows;
  s.tile_k = mma == Mma::cpu_stream ? kCpuStreamK : walks.panel_k;
  s.roles = {0, 1, Consumers::cooperative};
  return s;
}

std::vector<Schedule> cpu_candidates(const Device& device, const GemmProblem& problem) {
  std::vector<Schedule> all = {cpu_schedule(device, problem.precision, Mma::cpu_stream),
                               cpu_schedule(device, problem.precision, Mma::cpu_panel)};
  for (Schedule& s : all) s.epilogue = problem.epilogue;
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

double distance(const TileSpec& wanted, int m, int n, int k) {
  return ratio(m, wanted.m) * ratio(n, wanted.n) * ratio(k, wanted.k);
}

// The catalogue's tile that is nearest to `wanted`, the first of several.
template <typename Tiles>
auto nearest_of(const Tiles& tiles, const TileSpec& wanted) {
  return *std::min_element(tiles.begin(), tiles.end(), [&](const auto& a, const auto& b) {
    return distance(wanted, a.m, a.n, a.k) < distance(wanted, b.m, b.n, b.k);
  });
}

Schedule gpu_schedule_for_tile(const Device& device, const GemmProblem& problem, const TileSpec& wanted) {
  Schedule s = device.arch == Arch::sm_90 ? sm90_schedule(nearest_of(kSm90Tiles, wanted), problem.epilogue)
                                          : base_schedule(device, problem, nearest_of(kSm120Tiles, wanted));
  s.tile_m = wanted.m;
  s.tile_n = wanted.n;
  s.tile_k = wanted.k;
  s.stages = wanted.stages > 0 ? wanted.stages : std::max(2, schedule::largest_stages(device, s));
  return s;
}

}  // namespace

std::vector<Schedule> candidates(const Device& device, const GemmProblem& problem) {
  if (device.arch == Arch::cpu) return cpu_candidates(device, problem);
  if (device.arch == Arch::sm_90) return sm90_candidates(problem.epilogue);
  std::vector<Schedule> all;
  if (kernel_arch(device.arch) != Arch::sm_120) return all;
  for (const CatalogueTile& tile : kSm120Tiles) {
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
  const CpuWalks& walks = device.cpu.walks(problem.precision);
  const bool streams = tile.n == walks.stream_rows && tile.k == kCpuStreamK;
  Schedule s = cpu_schedule(device, problem.precision, streams ? Mma::cpu_stream : Mma::cpu_panel);
  s.epilogue = problem.epilogue;
  s.tile_m = tile.m;
  s.tile_n = tile.n;
  s.tile_k = tile.k;
  return s;
}

bool in_catalogue(const Device& device, const Schedule& s) {
  if (on_cpu(s.mma)) {
    const Schedule built = cpu_schedule(device, s.precision, s.mma);
    return built.tile_m == s.tile_m && built.tile_n == s.tile_n && built.tile_k == s.tile_k;
  }
  if (s.arch == Arch::sm_90) {
    const auto built = sm90_candidates(s.epilogue);
    return std::find(built.begin(), built.end(), s) != built.end();
  }
  return std::any_of(kSm120Tiles.begin(), kSm120Tiles.end(), [&](const CatalogueTile& tile) {
    return tile.m == s.tile_m && tile.n == s.tile_n && tile.k == s.tile_k &&
           (tile.pingpong || s.roles.consumers == Consumers::cooperative);
  });
}

}  // namespace tilewright
