// The changes that a remedy may make to a request, by rising cost.
#pragma once

#include <string>
#include <vector>

#include "tilewright/cutlass.hpp"

namespace tilewright::schedule::cutlass {

/// A change, before anybody knows whether it helps.
struct Change {
  std::string text;  ///< "StageCount<2>"
  std::string cost;  ///< "a shorter ring of loads in flight"
  CutlassRequest request;
};

/// StageCount<N> from one below the kernel's stages down to 2.
std::vector<Change> fewer_stages(const CutlassKernel& kernel);

/// ElementC = void, where the request has a C.
std::vector<Change> without_c(const CutlassRequest& request);

/// Epilogue tiles of the same rows and half the columns, down to 8.
std::vector<Change> smaller_epilogue_tiles(const CutlassKernel& kernel);

/// C and D in the other order, the operands exchanged.
std::vector<Change> swapped(const CutlassRequest& request);

/// The other schedule tags of the architecture, each with the epilogue tag that goes with it, Auto first.
std::vector<Change> other_tags(const CutlassRequest& request);

/// Clusters of 1x1 and 2x1, EpilogueTileAuto, the automatic stage count: what a build error may ask for.
std::vector<Change> plainer_requests(const CutlassRequest& request);

/// Other tiles, the nearest in shape first.
std::vector<Change> other_tiles(const CutlassRequest& request);

}  // namespace tilewright::schedule::cutlass
