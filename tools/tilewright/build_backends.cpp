#include "tools/tilewright/build_backends.hpp"

#include <fmt/format.h>

#include "tilewright/cuda_layer.hpp"
#include "tilewright/moe_layer.hpp"

namespace tilewright::cli {

bool has_cuda_kernels() { return TILEWRIGHT_WITH_CUDA != 0; }

Json backends_json() {
  Json names = Json::array({to_string(Backend::cpu)});
  if (has_cuda_kernels()) names.push_back(to_string(Backend::cuda));
  return names;
}

std::string cuda_words() {
  const Status available = cuda_available();
  constexpr const char* kSm12x = "SM12x's GEMM, built and never run on its hardware";
  if (available) return fmt::format("sm_90a, runs here; {}", kSm12x);
  if (!has_cuda_kernels()) return fmt::format("none; {}", available.error().remedy);
  return fmt::format("sm_90a, not here: {}; {}", available.error().message(), kSm12x);
}

}  // namespace tilewright::cli
