// The self-test's layers: every shape, routing and activation hazard that public models have, in small.
#pragma once

#include <string>
#include <vector>

#include "tilewright/activation.hpp"
#include "tilewright/routing.hpp"
#include "tools/tilewright/layer_inputs.hpp"

namespace tilewright::cli {

/// How a case's tokens choose experts.
enum class SlotPattern {
  routed,        ///< by random logits
  one_expert,    ///< every slot of every token names the last expert
  some_ignored,  ///< by random logits, then every third slot is -1, and all slots of token 0
};

struct VerifyCase {
  std::string name;
  RandomExperts shape;
  int tokens = 0;
  Activation activation;
  Routing routing;
  SlotPattern slots = SlotPattern::routed;
};

std::vector<VerifyCase> verify_cases();

/// The experts of each token of a case.
Result<RoutedTokens> slots_of(const VerifyCase& test, std::uint64_t seed);

}  // namespace tilewright::cli
