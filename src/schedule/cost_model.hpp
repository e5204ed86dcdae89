// The parts of the cost model that the GPU and the CPU have in common.
#pragma once

#include "tilewright/cost.hpp"

namespace tilewright::schedule {

/// Bytes of activations that a GEMM reads and writes, each once.
std::int64_t activation_bytes(const GemmProblem& problem);

/// Tiles of all experts, without splits.
std::int64_t tile_count(const GemmProblem& problem, const Schedule& schedule);

/// The fields that depend on shapes and bytes alone: tiles, fills, bytes, dram_us.
Cost shape_cost(const Device& device, const GemmProblem& problem, const Schedule& schedule);

/// The time of two things that overlap: the norm of that order, between their sum (1) and the larger one (infinity).
double joined(double a, double b, double order);

/// The longest of a cost's terms.
Bound longest_term(const Cost& cost);

/// A term by name.
double term(const Cost& cost, Bound bound);

Cost predict_gpu(const Device& device, const GemmProblem& problem, const Schedule& schedule);
Cost predict_cpu(const Device& device, const GemmProblem& problem, const Schedule& schedule);

}  // namespace tilewright::schedule
