// The devices and layers that the planner's tests ask about.
#pragma once

#include <string>

#include "tilewright/planner.hpp"

namespace tilewright::schedule_tests {

Device device(const std::string& name);

/// A CPU with round figures: 2 cores, 1 MiB of L2 each, 50 GB/s, 600 and 300 GMAC/s.
Device cpu();

/// GLM-5: H 6144, I 2048, 256 experts, top-8.
LayerProblem glm5(std::int64_t tokens, int ep, Precision precision,
                  RowDistribution rows = RowDistribution::uniform_random);

/// Qwen3-30B-A3B: H 2048, I 768, 128 experts, top-8.
LayerProblem qwen3(std::int64_t tokens, Precision precision);

/// The first GEMM of a plan, chosen; the test fails where nothing is.
const Candidate& chosen(const Plan& plan, std::size_t gemm = 0);

}  // namespace tilewright::schedule_tests
