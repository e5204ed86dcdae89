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
  const Status available = cuda_available({Precision::w4a16, Arch::sm_90, false});
  if (available) return "sm_90a; runs here";
  if (!has_cuda_kernels()) return fmt::format("none; {}", available.error().remedy);
  return fmt::format("sm_90a; not here: {}", available.error().message());
}

std::string sm12x_words() {
  if (!has_cuda_kernels()) return "none";
  const bool native = cuda_available({Precision::w4a4, Arch::sm_120, false}).has_value();
  const bool emulated = cuda_available({Precision::w4a4, Arch::sm_120, true}).has_value();
  const char* here = "; not here";
  if (emulated) here = "; run here with --arch sm_120 --emulate-mma";
  if (native) here = "; run here";
  return std::string("w4a4, w4a16; executed on an H200, w4a4 with its MMA emulated, never on SM12x") + here;
}

}  // namespace tilewright::cli
