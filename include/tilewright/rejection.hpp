// Rejection: why a schedule will not run, with the numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tilewright/device.hpp"
#include "tilewright/problem.hpp"
#include "tilewright/schedule.hpp"

namespace tilewright {

/// Stable reasons. `needs` and `limit` of a Rejection are in the unit given here.
enum class RejectionCode : std::uint8_t {
  smem_over_limit,        ///< bytes of one block over what a block may have
  smem_over_sm,           ///< bytes of all resident blocks over what the SM has
  working_set_over_l2,    ///< CPU: bytes of one core's working set over its L2
  register_budget,        ///< registers of a thread, or of all threads of the SM
  stages_below_two,       ///< stages
  tile_not_in_catalogue,  ///< no kernel is built for the tile; in bytes of shared memory at two stages
  k_not_multiple_of_16,   ///< elements of K that are left over
  tile_k_over_k,          ///< elements: the tile walks past K by a whole half or more
  cluster_not_supported,  ///< blocks of a cluster
  no_fp4_mma,             ///< compute capability times ten: w4a4 needs FP4 tensor cores
  precision_not_built,    ///< the device could, and no kernel is built
  no_kernels_for_arch,    ///< compute capability times ten: planned and explained, not run
};
const char* to_string(RejectionCode code);
Result<RejectionCode> parse_rejection_code(const std::string& name);

struct Rejection {
  Schedule schedule;
  RejectionCode code = RejectionCode::smem_over_limit;
  std::int64_t needs = 0;
  std::int64_t limit = 0;
  std::string message;              ///< one line: value, limit, difference
  std::optional<Schedule> nearest;  ///< the closest schedule that passes every rule, if there is one
};

/// The first rule that a schedule breaks on a device for a problem, or nothing. The rules are in docs/schedules.md.
std::optional<Rejection> reject(const Device& device, const GemmProblem& problem, const Schedule& schedule);

}  // namespace tilewright
