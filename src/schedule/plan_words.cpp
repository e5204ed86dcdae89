#include "schedule/plan_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "schedule/format.hpp"

namespace tilewright::schedule {
namespace {

bool same_tile(const Schedule& a, const Schedule& b) {
  return a.tile_m == b.tile_m && a.tile_n == b.tile_n && a.tile_k == b.tile_k && a.roles == b.roles;
}

// A rejection whose remedy is fewer stages is one of a family; the rest say all there is in their message.
std::string rejection_line(const Rejection& rejection) {
  const bool stages = rejection.code == RejectionCode::smem_over_limit && rejection.schedule && rejection.nearest &&
                      same_tile(*rejection.schedule, *rejection.nearest);
  if (!stages) return rejection.message;
  const Schedule& s = *rejection.schedule;
  return fmt::format("{:<12} {:<11} {} stages need {} B, {} over; {} fit",
                     to_string(TileSpec{s.tile_m, s.tile_n, s.tile_k, 0}), to_string(s.roles.consumers), s.stages,
                     grouped(rejection.needs), grouped(rejection.needs - rejection.limit), rejection.nearest->stages);
}

}  // namespace

const char* meaning(RejectionCode code) {
  switch (code) {
    case RejectionCode::no_kernels_for_arch: return "no kernel of this architecture exists here";
    case RejectionCode::no_fp4_mma: return "the tensor cores do not multiply FP4";
    case RejectionCode::precision_not_built: return "no kernel is built for the precision";
    case RejectionCode::k_not_multiple_of_16: return "NVFP4 blocks are 16 long";
    case RejectionCode::stages_below_two: return "a ring needs two stages";
    case RejectionCode::smem_over_limit: return "more shared memory than a block may have";
    case RejectionCode::working_set_over_l2: return "a core's working set does not fit its L2";
    case RejectionCode::cluster_not_supported: return "clusters are 1";
    case RejectionCode::register_budget: return "more registers than a thread may have";
    case RejectionCode::smem_over_sm: return "the resident blocks need more shared memory than the SM has";
    case RejectionCode::tile_not_in_catalogue: return "it fits, but no kernel is built for it";
    case RejectionCode::rows_suit_other_walk: return "the other way over the weights is faster for as many rows";
  }
  return "";
}

std::string tokens_words(std::int64_t tokens) {
  return fmt::format("{} {}", grouped(tokens), tokens == 1 ? "token" : "tokens");
}

std::string speed_words(const Cost& chosen, const Cost& other) {
  const double slower = other.predicted_us / chosen.predicted_us - 1.0;
  if (std::abs(slower) < 0.0005) return "the same";
  return fmt::format("{}% {}", percent(std::abs(slower)), slower > 0 ? "slower" : "faster");
}

const char* memory_name(const Device& device) { return device.arch == Arch::cpu ? "L2" : "shared memory"; }

std::string device_words(const Device& device) {
  if (device.arch == Arch::cpu) {
    return fmt::format("{} cores, {} B of L2 each, {:.0f} GB/s read, {:.0f} (w4a4) and {:.0f} (w4a16) GMAC/s measured",
                       device.sm_count, grouped(device.smem_per_block), device.dram_read_GBps,
                       device.cpu.macs_w4a4 / 1e9, device.cpu.macs_w4a16 / 1e9);
  }
  return fmt::format(
      "{} SMs at {} MHz, {} B of shared memory a block, DRAM {:.0f} GB/s, {:.0f} {}", device.sm_count, device.clock_mhz,
      grouped(device.smem_per_block), device.dram_GBps, device.dram_read_GBps,
      device.dram_read_measured ? "of it seen to be read" : "of it expected (nobody published a read rate)");
}

std::string rows_words(const RowsHistogram& rows) {
  std::int64_t least = rows.max();
  for (const auto& bin : rows.bins) least = bin.rows > 0 ? std::min(least, bin.rows) : least;
  const std::string each = least == rows.max() ? fmt::format("{} each", grouped(least))
                                               : fmt::format("{} to {} each, {:.1f} on average", grouped(least),
                                                             grouped(rows.max()), rows.mean_active());
  return fmt::format("{} over {} of {} experts, {}", grouped(rows.total()), grouped(rows.active()),
                     grouped(rows.experts()), each);
}

std::string time_words(const Cost& cost, const Roofline& floor) {
  return fmt::format("{} us predicted, bound by {}; {}% of the floor's speed ({} us)", microseconds(cost.predicted_us),
                     to_string(cost.bound), percent(floor.us() / cost.predicted_us), microseconds(floor.us()));
}

std::string bound_words(const Device& device, const Cost& cost) {
  const char* unit = device.arch == Arch::cpu ? "core" : "SM";
  const std::string traffic =
      fmt::format("{} of weights and {} of activations take {} us at {:.0f} GB/s", bytes(cost.weight_bytes),
                  bytes(cost.dram_bytes - cost.weight_bytes), microseconds(cost.dram_us), device.dram_read_GBps);
  switch (cost.bound) {
    case Bound::dram:
      return fmt::format("{}; the busiest {} works {} us of that", traffic, unit, microseconds(cost.sm_us));
    case Bound::launch:
      return fmt::format("launch and fill take {} us, more than the work: {}", microseconds(cost.launch_us), traffic);
    default: break;
  }
  return fmt::format("the busiest {} works {} us; meanwhile {}", unit, microseconds(cost.sm_us), traffic);
}

std::string sm_words(const Schedule& schedule, const Cost& cost) {
  if (on_cpu(schedule.mma)) {
    return fmt::format("dot products {}, decoding {}, accumulator passes {}, starting threads {} us",
                       microseconds(cost.mma_us), microseconds(cost.decode_us), microseconds(cost.overhead_us),
                       microseconds(cost.launch_us));
  }
  const std::string decode =
      cost.decode_us > 0 ? fmt::format("decode {}, ", microseconds(cost.decode_us)) : std::string();
  return fmt::format("mma {}, {}smem {}, l2 {}, latency {}, barriers {}, epilogues {}; launch and fill {}, tail {} us",
                     microseconds(cost.mma_us), decode, microseconds(cost.smem_us), microseconds(cost.l2_us),
                     microseconds(cost.latency_us), microseconds(cost.overhead_us), microseconds(cost.epilogue_us),
                     microseconds(cost.launch_us), microseconds(cost.tail_us));
}

std::string tile_words(const Schedule& schedule, const Cost& cost) {
  if (on_cpu(schedule.mma)) return grouped(cost.tiles);
  return fmt::format("{} in {:.2f} waves, {}% full; {}% of the token columns hold rows", grouped(cost.tiles),
                     cost.waves, percent(cost.wave_efficiency), percent(cost.token_fill));
}

std::string chosen_though_slower(const GemmPlan& plan) {
  if (!plan.tuned) return "too close to tell: the plainer or less busy one is chosen";
  return plan.tuned->pinned ? "by the model; the choice is pinned" : "by the model; the choice is measured";
}

std::string runner_up_words(const GemmPlan& plan, const Candidate& other) {
  const Candidate& chosen = *plan.chosen();
  const bool faster = other.cost.predicted_us < chosen.cost.predicted_us;
  return fmt::format("{}: {} us, {}{}", describe(other.schedule), microseconds(other.cost.predicted_us),
                     speed_words(chosen.cost, other.cost), faster ? ", " + chosen_though_slower(plan) : std::string());
}

std::string tuned_words(const Schedule& chosen, const TunedChoice& tuned) {
  std::string text = tuned.pinned ? "pinned" : "measured to be the fastest, within noise";
  if (tuned.us > 0) text += fmt::format(": {} us", microseconds(tuned.us));
  text += fmt::format(" on {}", tuned.source);
  if (chosen == tuned.model_choice) return text + "; the model chooses the same";
  text += fmt::format("; the model's choice is {}", describe(tuned.model_choice));
  return tuned.model_us > 0 ? text + fmt::format(", {} us", microseconds(tuned.model_us)) : text;
}

std::string floor_words(const Device& device, const Roofline& floor) {
  std::string text =
      fmt::format("{} us ({}) at {:.0f} GB/s and dense peak: {} of weights, {} of activations, {:.4g} GFLOP",
                  microseconds(floor.us()), to_string(floor.bound), device.dram_GBps, bytes(floor.weight_bytes),
                  bytes(floor.activation_bytes), floor.flops / 1e9);
  if (floor.rows_at_ridge > 0) text += fmt::format("; compute-bound from {:.0f} rows an expert", floor.rows_at_ridge);
  return text;
}

std::string stage_words(const Schedule& schedule, const SharedBuffer& buffer) {
  if (buffer.stage_stride == 0) return {};
  return fmt::format("{} x {}", schedule.stages, grouped(buffer.bytes / schedule.stages));
}

std::vector<RejectionGroup> group_rejections(const std::vector<Rejection>& rejected) {
  std::vector<RejectionGroup> groups;
  for (const Rejection& rejection : rejected) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.code == rejection.code; });
    if (group == groups.end()) group = groups.insert(groups.end(), {rejection.code, meaning(rejection.code), {}});
    group->lines.push_back(rejection_line(rejection));
  }
  return groups;
}

}  // namespace tilewright::schedule
