// The sections of a plan's page, each in a file of its own. Every number of a chart stands in a table beside it,
// written as the text of `plan` writes it.
#pragma once

#include <string>
#include <vector>

#include "tilewright/plan_render.hpp"

namespace tilewright::html {

/// The plans of one GEMM for its token counts: what is compared with each other.
struct GemmGroup {
  std::string name;     ///< "gemm1"; with the variant where there is one: "gemm1, w4a4"
  std::string sizes;    ///< "N 4096, K 6144, w4a4, gated_nvfp4, 32 experts"
  std::string variant;  ///< what tells it from other groups of the same GEMM; empty where it is the only one
  std::vector<const GemmPlan*> plans;  ///< by tokens
};
std::vector<GemmGroup> group_gemms(const Plan& plan);

/// Token counts of the group's plans, for the ticks of an axis, and the same in words: "1 token", "1, 16 and 64
/// tokens".
std::vector<double> token_marks(const GemmGroup& group);
std::string token_list(const std::vector<std::int64_t>& tokens);

std::string chosen_section(const Plan& plan, const std::vector<GemmGroup>& groups);
std::string roofline_section(const Plan& plan, const std::vector<GemmGroup>& groups);
std::string times_section(const Plan& plan, const std::vector<GemmGroup>& groups);
std::string terms_section(const std::vector<GemmGroup>& groups);
std::string memory_section(const Plan& plan, const std::vector<GemmGroup>& groups);
std::string layer_section(const Plan& plan, const std::vector<GemmGroup>& groups);
std::string why_not_section(const std::vector<GemmGroup>& groups);
std::string candidates_section(const std::vector<GemmGroup>& groups);
std::string rejections_section(const std::vector<GemmGroup>& groups);

}  // namespace tilewright::html
