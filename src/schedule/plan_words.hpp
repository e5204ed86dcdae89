// What a plan says, as phrases that text and Markdown share.
#pragma once

#include <string>
#include <vector>

#include "tilewright/planner.hpp"

namespace tilewright::schedule {

/// "188 SMs at 2430 MHz, 101,376 B of shared memory a block, DRAM 1597 GB/s (1512 read by the best kernel known)".
std::string device_words(const Device& device);

/// "512 tokens", "1 token".
std::string tokens_words(std::int64_t tokens);

/// "2.5% slower", "0.2% faster", "the same": `other` against the chosen one.
std::string speed_words(const Cost& chosen, const Cost& other);

/// "512 over 32 of 32 experts, 8 to 25 each, 16.0 on average".
std::string rows_words(const RowsHistogram& rows);

/// "306.8 us predicted, bound by dram; the floor is 285.7 us".
std::string time_words(const Cost& cost, const Roofline& floor);

/// Why the bound is what it is, with its numbers.
std::string bound_words(const Device& device, const Cost& cost);

/// The terms of a SM: "mma 16.7, smem 26.7, l2 61.4, latency 27.0, barriers 3.6, epilogues 1.1".
std::string sm_words(const Schedule& schedule, const Cost& cost);

/// "1,024 tiles in 5.45 waves, 91% full; 100% of the token columns hold rows".
std::string tile_words(const Schedule& schedule, const Cost& cost);

/// Why a schedule is chosen that the model does not predict to be the fastest.
std::string chosen_though_slower(const GemmPlan& plan);

/// "128x16x128, 9 stages, ...: 306.5 us, 0.1% faster", and in that case why it is not chosen.
std::string runner_up_words(const GemmPlan& plan, const Candidate& other);

/// "measured to be the fastest, within noise: 100.1 us on NVIDIA H200, driver 580.65.06; the model's choice is ...".
std::string tuned_words(const Schedule& chosen, const TunedChoice& tuned);

/// "285.7 us at 1597 GB/s and dense peak, bound by dram; mma-bound from 330 rows an expert".
std::string floor_words(const Device& device, const Roofline& floor);

/// "4 x 16,384" of a staged buffer, "" of another one.
std::string stage_words(const Schedule& schedule, const SharedBuffer& buffer);

/// What `smem_per_block` is called: "shared memory" or "L2".
const char* memory_name(const Device& device);

/// A reason for a rejection, on one line: "NVFP4 blocks are 16 long".
const char* meaning(RejectionCode code);

/// The rejections of one code, each on one line, in the order of the plan.
struct RejectionGroup {
  RejectionCode code = RejectionCode::smem_over_limit;
  std::string meaning;  ///< one line
  std::vector<std::string> lines;
};
std::vector<RejectionGroup> group_rejections(const std::vector<Rejection>& rejected);

/// Times here are predictions; said once in every plan.
inline constexpr const char* kPredictionNote = "times are predicted from the device's facts, not measured";

}  // namespace tilewright::schedule
