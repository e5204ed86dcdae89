#include "tilewright/catalogue.hpp"

#include <algorithm>

#include "schedule/limits.hpp"

namespace tilewright {
namespace {

std::vector<Schedule> sm90_candidates(Epilogue epilogue) {
  std::vector<Schedule> all;
  for (const Sm90Tile& tile : kSm90Tiles) {
    for (const Sm90Ending& ending : kSm90Endings) {
      if (ending.epilogue == epilogue && tile.n >= ending.least_n) all.push_back(sm90_schedule(tile, ending));
    }
  }
  return all;
}

void add_sm120_tile(const Sm120Tile& tile, Consumers consumers, const GemmProblem& problem,
                    std::vector<Schedule>& all) {
  const Epilogue epilogue = problem.epilogue;
  const Precision precision = problem.precision;
  const int most = sm120_most_stages(tile, consumers, epilogue, precision);
  for (int stages = 2; stages <= most + 1; ++stages) {
    all.push_back(sm120_schedule(tile, consumers, stages, SplitKind::none, epilogue, precision));
  }
  if (sm120_splits(consumers) && sm120_builds(tile, consumers, epilogue, precision)) {
    all.push_back(sm120_schedule(tile, consumers, most, SplitKind::stream_k, epilogue, precision));
  }
}

std::vector<Schedule> sm120_candidates(const GemmProblem& problem) {
  std::vector<Schedule> all;
  if (!sm120_has(problem.epilogue, problem.precision)) return all;
  for (const Sm120Tile& tile : kSm120Tiles) {
    add_sm120_tile(tile, Consumers::cooperative, problem, all);
    if (tile.pingpong) add_sm120_tile(tile, Consumers::pingpong, problem, all);
  }
  return all;
}

bool in_sm120_catalogue(const Schedule& s) {
  const Consumers consumers = s.roles.consumers;
  if (!sm120_has(s.epilogue, s.precision)) return false;
  return std::any_of(kSm120Tiles.begin(), kSm120Tiles.end(), [&](const Sm120Tile& tile) {
    if (!sm120_builds(tile, consumers, s.epilogue, s.precision)) return false;
    const int most = sm120_most_stages(tile, consumers, s.epilogue, s.precision);
    return sm120_runs(sm120_schedule(tile, consumers, most, SplitKind::none, s.epilogue, s.precision), s);
  });
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
                                          : sm120_schedule(nearest_of(kSm120Tiles, wanted), Consumers::cooperative, 2,
                                                           SplitKind::none, problem.epilogue, problem.precision);
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
  return kernel_arch(device.arch) == Arch::sm_120 ? sm120_candidates(problem) : std::vector<Schedule>();
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
  return in_sm120_catalogue(s);
}

}  // namespace tilewright
