// The legality rules, each with its reason code, and the nearest schedule that passes them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "schedule/enum_names.hpp"
#include "schedule/format.hpp"
#include "schedule/limits.hpp"
#include "tilewright/catalogue.hpp"
#include "tilewright/rejection.hpp"

namespace tilewright {
namespace {

using schedule::grouped;

constexpr schedule::EnumNames<12> kCodeNames = {
    "no_kernels_for_arch", "no_fp4_mma",      "precision_not_built",   "k_not_multiple_of_16",
    "stages_below_two",    "smem_over_limit", "working_set_over_l2",   "cluster_not_supported",
    "register_budget",     "smem_over_sm",    "tile_not_in_catalogue", "rows_suit_other_walk"};

Rejection reason(RejectionCode code, std::string message, std::int64_t needs = 0, std::int64_t limit = 0) {
  return {std::nullopt, code, needs, limit, std::move(message), std::nullopt};
}

std::string tile_of(const Schedule& s) { return to_string(TileSpec{s.tile_m, s.tile_n, s.tile_k, 0}); }

// What of a schedule no kernel is built for: on SM90, where a tile has one ring, the tile with its stages; on SM120 the
// tile, or where that is built the whole of the schedule.
std::string subject_of(const Schedule& s) {
  if (s.arch == Arch::sm_90) return fmt::format("{} with {} stages", tile_of(s), s.stages);
  const bool built = std::any_of(kSm120Tiles.begin(), kSm120Tiles.end(), [&](const Sm120Tile& tile) {
    return tile.m == s.tile_m && tile.n == s.tile_n && tile.k == s.tile_k;
  });
  return s.arch == Arch::sm_120 && built ? describe(s) : tile_of(s);
}

// Rules on the bytes of one block, or of one core's working set.
std::optional<Rejection> reject_bytes(const Device& device, const Schedule& s) {
  const std::int64_t needs = shared_memory(s).total;
  const std::int64_t limit = device.smem_per_block;
  if (needs <= limit) return std::nullopt;
  if (on_cpu(s.mma)) {
    return reason(RejectionCode::working_set_over_l2,
                  fmt::format("{} {} needs {} B a core, {} B over the {} B of L2", tile_of(s), to_string(s.mma),
                              grouped(needs), grouped(needs - limit), grouped(limit)),
                  needs, limit);
  }
  const int fits = schedule::largest_stages(device, s);
  Schedule fitting = s;
  fitting.stages = fits;
  const std::string remedy = fits == 0
                                 ? std::string("no stage count fits")
                                 : fmt::format("{} stages fit ({} B)", fits, grouped(shared_memory(fitting).total));
  return reason(
      RejectionCode::smem_over_limit,
      fmt::format("{} with {} stages needs {} B of shared memory, {} B over the {} B a block has on {}; {}", tile_of(s),
                  s.stages, grouped(needs), grouped(needs - limit), grouped(limit), to_string(device.arch), remedy),
      needs, limit);
}

// Rules on what several blocks and all their threads take of a SM.
std::optional<Rejection> reject_residency(const Device& device, const Schedule& s) {
  const int registers = schedule::registers_needed(s);
  const int available = schedule::registers_available(device, s);
  if (registers > available) {
    return reason(
        RejectionCode::register_budget,
        fmt::format("{} {} needs {} registers a consumer thread ({} accumulators), {} over the {} there are for "
                    "{} threads a SM",
                    tile_of(s), to_string(s.roles.consumers), registers, accumulators(s), registers - available,
                    available, s.ctas_per_sm * threads(s)),
        registers, available);
  }
  const std::int64_t resident = schedule::resident_bytes(device, s);
  if (resident > device.smem_per_sm) {
    return reason(
        RejectionCode::smem_over_sm,
        fmt::format("{} blocks of {} with {} stages need {} B of the SM, {} B over its {} B", s.ctas_per_sm, tile_of(s),
                    s.stages, grouped(resident), grouped(resident - device.smem_per_sm), grouped(device.smem_per_sm)),
        resident, device.smem_per_sm);
  }
  return std::nullopt;
}

// The first rule that the schedule breaks, without the nearest legal one.
std::optional<Rejection> broken_rule(const Device& device, const Schedule& s) {
  const bool gpu = !on_cpu(s.mma);
  if (gpu && s.stages < 2) {
    return reason(
        RejectionCode::stages_below_two,
        fmt::format("{} with {} stages: a ring needs 2 to load one while it computes another", tile_of(s), s.stages),
        s.stages, 2);
  }
  if (auto bytes = reject_bytes(device, s)) return bytes;
  if (s.cluster != 1) {
    return reason(
        RejectionCode::cluster_not_supported,
        fmt::format("{} in clusters of {}: each block loads its own tiles, so clusters are 1", tile_of(s), s.cluster),
        s.cluster, 1);
  }
  if (gpu) {
    if (auto residency = reject_residency(device, s)) return residency;
  }
  if (!in_catalogue(device, s)) {
    return reason(RejectionCode::tile_not_in_catalogue,
                  fmt::format("{} fits with {} B, but no {} kernel is built for it", subject_of(s),
                              grouped(shared_memory(s).total), to_string(s.arch)));
  }
  return std::nullopt;
}

// The backend has one way over the weights for a number of rows.
std::optional<Rejection> reject_walk(const Device& device, const GemmProblem& problem, const Schedule& s) {
  if (!on_cpu(s.mma)) return std::nullopt;
  const CpuWalks& walks = device.cpu.walks(problem.precision);
  const bool streams = walks.streams(problem.rows.total(), problem.rows.active());
  if (streams == (s.mma == Mma::cpu_stream)) return std::nullopt;
  return reason(RejectionCode::rows_suit_other_walk,
                fmt::format("{} for {:.1f} rows an expert: {} {}, {} is faster on {}", to_string(s.mma),
                            problem.rows.mean_active(), streams ? "up to" : "above", walks.stream_limit,
                            to_string(streams ? Mma::cpu_stream : Mma::cpu_panel), device.cpu.isa),
                static_cast<std::int64_t>(std::ceil(problem.rows.mean_active())), walks.stream_limit);
}

std::optional<Rejection> broken_rule(const Device& device, const GemmProblem& problem, const Schedule& s) {
  if (auto broken = broken_rule(device, s)) return broken;
  return reject_walk(device, problem, s);
}

// How many times larger or smaller one size is than the other.
double ratio(int a, int b) { return a > b ? static_cast<double>(a) / b : static_cast<double>(b) / a; }

// The legal catalogue schedule of nearest shape, with as many stages as fit.
std::optional<Schedule> nearest_tile(const Device& device, const GemmProblem& problem, const Schedule& s) {
  std::optional<Schedule> best;
  double best_distance = std::numeric_limits<double>::infinity();
  for (const Schedule& candidate : candidates(device, problem)) {
    // Elsewhere each tile comes unsplit too; the kernels of SM90 are what they are.
    if (candidate.split.kind != SplitKind::none && candidate.arch != Arch::sm_90) continue;
    if (candidate.roles.consumers != s.roles.consumers && !on_cpu(s.mma)) continue;
    const double distance =
        ratio(candidate.tile_m, s.tile_m) * ratio(candidate.tile_n, s.tile_n) * ratio(candidate.tile_k, s.tile_k);
    const bool nearer = distance < best_distance || (distance == best_distance && candidate.stages > best->stages);
    if (!nearer || broken_rule(device, problem, candidate)) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

std::optional<Schedule> nearest_legal(const Device& device, const GemmProblem& problem, const Schedule& s,
                                      RejectionCode code) {
  Schedule changed = s;
  switch (code) {
    case RejectionCode::stages_below_two: changed.stages = 2; break;
    case RejectionCode::cluster_not_supported: changed.cluster = 1; break;
    case RejectionCode::smem_over_sm: changed.ctas_per_sm = 1; break;
    case RejectionCode::smem_over_limit: changed.stages = schedule::largest_stages(device, s); break;
    case RejectionCode::register_budget:
      changed.ctas_per_sm = 1;
      changed.roles.consumers = Consumers::cooperative;
      break;
    default: break;
  }
  if (!broken_rule(device, problem, changed)) return changed;
  return nearest_tile(device, problem, s);
}

}  // namespace

namespace schedule {

int largest_stages(const Device& device, Schedule s) {
  s.stages = 2;
  if (shared_memory(s).total > device.smem_per_block) return 0;
  while (s.stages < kMostStages) {
    ++s.stages;
    if (shared_memory(s).total > device.smem_per_block) return s.stages - 1;
  }
  return s.stages;
}

}  // namespace schedule

const char* to_string(RejectionCode code) { return schedule::name_of(kCodeNames, code); }

Result<RejectionCode> parse_rejection_code(const std::string& name) {
  return schedule::value_of<RejectionCode>(kCodeNames, name, "rejection code");
}

std::optional<Rejection> reject(const Device& device, const GemmProblem& problem) {
  const Arch arch = kernel_arch(device.arch);
  if (arch != Arch::cpu && !schedule::has_gpu_kernels(arch)) {
    return reason(
        RejectionCode::no_kernels_for_arch,
        fmt::format("no kernels for {}: its tensor cores are driven by tcgen05, which nothing here is built for; "
                    "the device and the floor of the problem are given",
                    to_string(device.arch)));
  }
  if (arch == Arch::sm_90 && problem.precision == Precision::w4a4) {
    return reason(
        RejectionCode::no_fp4_mma,
        "no FP4 MMA on sm_90: w4a4 needs compute capability 10.0 or newer; w4a16 decodes the weights to bf16");
  }
  if (arch == Arch::sm_90 && !sm90_has(problem.epilogue)) {
    return reason(RejectionCode::precision_not_built,
                  fmt::format("no sm_90 kernel ends in {}: activations stay bf16 there", to_string(problem.epilogue)));
  }
  if (arch == Arch::sm_120 && !sm120_has(problem.epilogue, problem.precision)) {
    return reason(RejectionCode::precision_not_built,
                  fmt::format("no {} kernel of {} ends in {}: activations stay bf16 there", to_string(device.arch),
                              to_string(problem.precision), to_string(problem.epilogue)));
  }
  if (problem.k % 16 != 0) {
    return reason(RejectionCode::k_not_multiple_of_16,
                  fmt::format("K {} leaves {} elements over after whole NVFP4 blocks of 16; pad K to {}",
                              grouped(problem.k), problem.k % 16, grouped(round_up(problem.k, 16))),
                  problem.k % 16, 0);
  }
  return std::nullopt;
}

std::optional<Rejection> reject(const Device& device, const GemmProblem& problem, const Schedule& s) {
  if (auto rejection = reject(device, problem)) return rejection;
  auto rejection = broken_rule(device, problem, s);
  if (!rejection) return std::nullopt;
  rejection->schedule = s;
  rejection->nearest = nearest_legal(device, problem, s, rejection->code);
  // Where another stage count fits, the message has said so.
  const bool said = rejection->code == RejectionCode::smem_over_limit && schedule::largest_stages(device, s) > 0;
  if (rejection->nearest && !said) rejection->message += "; the nearest that runs is " + describe(*rejection->nearest);
  return rejection;
}

}  // namespace tilewright
