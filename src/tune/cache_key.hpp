// When two problems, and two machines, are the same to the tuning cache.
#pragma once

#include <cstdint>

#include "tilewright/tuning_cache.hpp"

namespace tilewright::tune {

/// Every field of the problem.
bool same_problem(const GemmProblem& a, const GemmProblem& b);
std::uint64_t hash_of(const GemmProblem& problem);

/// Whether an entry of `on` was made on the device that a question names.
bool same_device(const TunedOn& question, const TunedOn& on);

/// Why an entry of `on` does not answer the question, though its device is right: "" where it does.
std::string stale_reason(const TunedOn& question, const TunedOn& on);

}  // namespace tilewright::tune
