// Rejection: why a schedule will not run, with the numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tilewright/device.hpp"
#include "tilewright/problem.hpp"
#include "tilewright/schedule.hpp"

namespace tilewright {

/// Stable reasons, in the order in which the rules are checked. In brackets what `needs` and `limit` of a Rejection
/// count; both are 0 where the reason is not a number.
enum class RejectionCode : std::uint8_t {
  no_kernels_for_arch,    ///< planned and explained, not run: no kernel of this architecture exists here
  no_fp4_mma,             ///< w4a4 needs FP4 tensor cores and the device has none
  precision_not_built,    ///< the device could, and no kernel is built
  k_not_multiple_of_16,   ///< NVFP4 blocks are 16 long [elements of K left over, 0]
  stages_below_two,       ///< a ring needs two slots to overlap anything [stages, 2]
  smem_over_limit,        ///< [bytes of one block, what a block may have]
  working_set_over_l2,    ///< on a CPU [bytes of one core's working set, its L2]
  cluster_not_supported,  ///< [blocks of a cluster, 1]
  register_budget,        ///< [registers of a consumer thread, what it may have]
  smem_over_sm,           ///< too many resident blocks [bytes of all of them, what the SM has]
  tile_not_in_catalogue,  ///< it would fit, but no kernel is built for it
  rows_suit_other_walk,   ///< on a CPU the backend streams few rows and expands for many [rows an expert, the limit]
};
const char* to_string(RejectionCode code);
Result<RejectionCode> parse_rejection_code(const std::string& name);

struct Rejection {
  std::optional<Schedule> schedule;  ///< none where no schedule for the problem could exist
  RejectionCode code = RejectionCode::smem_over_limit;
  std::int64_t needs = 0;
  std::int64_t limit = 0;
  std::string message;              ///< one line: value, limit, difference
  std::optional<Schedule> nearest;  ///< the closest schedule that passes every rule, if there is one
};

/// Why a problem cannot run on a device under any schedule, or nothing.
std::optional<Rejection> reject(const Device& device, const GemmProblem& problem);

/// The first rule that a schedule breaks on a device for a problem, or nothing. The rules are in docs/schedules.md.
std::optional<Rejection> reject(const Device& device, const GemmProblem& problem, const Schedule& schedule);

}  // namespace tilewright
