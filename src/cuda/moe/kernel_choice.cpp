#include "cuda/moe/kernel_choice.hpp"

#include <fmt/format.h>

#include <utility>

namespace tilewright::cuda {
namespace {

constexpr const char* kEmulate = "give arch sm_120 with the MMA emulated (--arch sm_120 --emulate-mma)";

tl::unexpected<Error> refuse(std::string cause, const char* remedy) {
  return fail(ErrorCode::unsupported, std::move(cause), remedy);
}

std::string named(const GpuInfo& gpu) {
  return fmt::format("{} has compute capability {}.{}", gpu.name, gpu.major, gpu.minor);
}

}  // namespace

Result<Arch> own_kernels(const GpuInfo& gpu) {
  if (gpu.major == 9 && gpu.minor == 0) return Arch::sm_90;
  if (gpu.major == 12) return Arch::sm_120;
  return refuse(named(gpu) + "; the kernels are built for 9.0, 12.0 and 12.1",
                "run on an H100, an H200 or an SM12x, or on the CPU backend");
}

namespace {

Status check_precision(Arch kernels, Precision precision) {
  if (kernels == Arch::sm_90 && precision != Precision::w4a16) {
    return refuse(fmt::format("{} on SM90's kernels: SM90 has no FP4 tensor cores", to_string(precision)),
                  "take w4a16, or give arch sm_120 with the MMA emulated (--arch sm_120 --emulate-mma)");
  }
  return {};
}

}  // namespace

Result<KernelChoice> choose_kernels(const GpuInfo& gpu, const CudaLayerOptions& options) {
  TILEWRIGHT_ASSIGN(const Arch own, own_kernels(gpu));
  const Arch kernels = kernel_arch(options.arch.value_or(own));
  if (kernels != Arch::sm_90 && kernels != Arch::sm_120) {
    return refuse(fmt::format("there are no kernels for {}", to_string(kernels)), "give sm_90 or sm_120");
  }
  if (kernels == Arch::sm_90 && own != kernels) {
    return refuse(named(gpu) + "; SM90's kernels run on 9.0 alone", "leave the architecture out");
  }
  // SM120's kernels on SM90. In w4a16 nothing of them is emulated, and to ask for it changes nothing.
  const bool elsewhere = kernels == Arch::sm_120 && own == Arch::sm_90;
  const bool emulates = elsewhere && options.precision == Precision::w4a4;
  if (emulates && !options.emulate_mma) {
    return refuse(named(gpu) + ", without the block-scaled MMA of SM120's kernels", kEmulate);
  }
  if (!elsewhere && options.emulate_mma) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("the MMA emulated for {} kernels on compute capability {}.{}", to_string(kernels),
                            gpu.major, gpu.minor),
                "emulate it for sm_120 kernels on an SM90 GPU alone");
  }
  TILEWRIGHT_TRY(check_precision(kernels, options.precision));
  return KernelChoice{kernels, elsewhere ? sm120::MmaPolicy::emulated : sm120::MmaPolicy::native, emulates};
}

}  // namespace tilewright::cuda
