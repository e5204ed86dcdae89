// What a benchmark's routing makes a rank do.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewright/model.hpp"
#include "tilewright/result.hpp"
#include "tilewright/routing.hpp"

namespace tilewright::tune {

struct RoutedWork {
  std::int64_t rows = 0;   ///< slots that name an expert of the rank
  int active_experts = 0;  ///< experts of the rank with rows
};

/// Work of the rank that holds experts first .. first + count - 1.
RoutedWork routed_work(const RoutedTokens& routed, int first, int count);

/// The model as a rank with `count` experts sees it when every token chooses among the rank's own experts.
ModelFacts local_model(const ModelFacts& model, int count);

/// Whether a layer of `model` can be divided so.
Status check_split(const ModelFacts& model, int tp, int ep);

}  // namespace tilewright::tune
