// The three ways in which the oracle answers: a kernel, a build that stops, and "not covered".
#pragma once

#include <string>

#include "tilewright/cutlass.hpp"

namespace tilewright::schedule::cutlass {

/// A kernel with the request, the device's limit and nothing else yet.
CutlassKernel start(const CutlassRequest& request);

/// The kernel whose types do not exist: the steps so far, the error, no sizes. For an error in the body of a kernel set
/// `kernel.error` with in_kernel_body instead, and fill the sizes.
CutlassKernel stopped(CutlassKernel kernel, CutlassBuildError error);

/// `unsupported`: what was asked for, and what compiled evidence covers.
tl::unexpected<Error> not_covered(const CutlassRequest& request, const std::string& what, const std::string& covered);

/// "tuple<C<1>,C<1>,C<1>>"; "tuple<int,int,C<1>>" of a dynamic cluster: as it stands in a policy.
std::string cluster_tuple(const CutlassRequest& request);

// Errors that several architectures have.

/// "Could not build a collective for given parameters.": no specialisation of CollectiveBuilder takes the arguments.
CutlassBuildError no_builder(std::string remedy);

/// "Specialization requires Stages set to value 2 or more."
CutlassBuildError stages_below_2(std::string file, std::string remedy);

/// A static assertion that stands in one builder.
CutlassBuildError build_error(std::string rule, std::string message, std::string file, std::string remedy);

/// The epilogue's C or D tile has a contiguous extent that no shared-memory layout atom divides.
CutlassBuildError epilogue_extent(std::string remedy);

}  // namespace tilewright::schedule::cutlass
