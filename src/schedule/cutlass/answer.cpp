#include "schedule/cutlass/answer.hpp"

#include <fmt/format.h>

#include <utility>

namespace tilewright::schedule::cutlass {

CutlassKernel start(const CutlassRequest& request) {
  CutlassKernel kernel;
  kernel.request = request;
  kernel.limit = smem_per_block(request.arch);
  return kernel;
}

CutlassKernel stopped(CutlassKernel kernel, CutlassBuildError error) {
  kernel.error = std::move(error);
  return kernel;
}

tl::unexpected<Error> not_covered(const CutlassRequest& request, const std::string& what, const std::string& covered) {
  return fail(ErrorCode::unsupported,
              fmt::format("no compiled evidence for {} on {} with CUTLASS {}", what, to_string(request.arch),
                          to_string(request.version)),
              "covered: " + covered);
}

std::string cluster_tuple(const CutlassRequest& request) {
  if (request.cluster_m == 0) return "tuple<int,int,C<1>>";
  return fmt::format("tuple<C<{}>,C<{}>,C<1>>", request.cluster_m, request.cluster_n);
}

CutlassBuildError build_error(std::string rule, std::string message, std::string file, std::string remedy) {
  return {std::move(rule), std::move(message), std::move(file), std::move(remedy), false};
}

CutlassBuildError no_builder(std::string remedy) {
  return build_error("no_builder", "Could not build a collective for given parameters.",
                     "gemm/collective/collective_builder_decl.hpp", std::move(remedy));
}

CutlassBuildError stages_below_2(std::string file, std::string remedy) {
  return build_error("stages_below_2", "Specialization requires Stages set to value 2 or more.", std::move(file),
                     std::move(remedy));
}

CutlassBuildError epilogue_extent(std::string remedy) {
  return build_error("epilogue_extent",
                     "BLK_K0 must be a multiple of size<1>(GMMA::Layout_K_INTER_Atom<ElementType>{})",
                     "gemm/collective/builders/sm90_common.inl", std::move(remedy));
}

}  // namespace tilewright::schedule::cutlass
