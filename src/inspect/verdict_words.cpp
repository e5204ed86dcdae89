// The verdict on one kernel, with the numbers and the remedy.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "inspect/verdict.hpp"
#include "inspect/verdict_image.hpp"

namespace tilewright::inspect {
namespace {

constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kWarpRegisterUnit = 256;

constexpr std::int64_t round_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

void set(KernelVerdict& verdict, VerdictCode code, std::string message, std::string remedy = {}) {
  verdict.code = code;
  verdict.message = std::move(message);
  verdict.remedy = std::move(remedy);
}

// The targets of the images that hold a kernel, each once.
std::string targets_of(const KernelVerdict& verdict, const BinaryReport& report) {
  std::set<std::string> names;
  for (const std::size_t i : verdict.images) names.insert(target_name(report.images[i]));
  return fmt::format("{}", fmt::join(names, ", "));
}

bool any_feature_target(const KernelVerdict& verdict, const BinaryReport& report) {
  return std::any_of(verdict.images.begin(), verdict.images.end(),
                     [&](std::size_t i) { return code_target(report.images[i]).features != TargetFeatures::base; });
}

bool same_major(const KernelVerdict& verdict, const BinaryReport& report, ComputeCapability device) {
  return std::any_of(verdict.images.begin(), verdict.images.end(),
                     [&](std::size_t i) { return code_target(report.images[i]).major == device.major; });
}

// Whether CUTLASS's kernels of that architecture run on a device at all, whatever the flags are.
bool kernels_for(Arch made_for, ComputeCapability device) {
  switch (made_for) {
    case Arch::sm_90: return device.major == 9;
    case Arch::sm_100: return device.major == 10;
    case Arch::sm_103: return device == ComputeCapability{10, 3};
    case Arch::sm_110: return device.major == 11;
    case Arch::sm_120:
    case Arch::sm_121: return device.major == 12;
    case Arch::cpu: break;
  }
  return false;
}

std::string rebuild(ComputeCapability device) {
  return fmt::format("build it with {}", nvcc_flags(recommended_target(device)));
}

std::string other_architecture(const CutlassKernelName& name, ComputeCapability device) {
  return fmt::format("none by flags: it is one of CUTLASS's {} kernels; {} needs one for its own architecture",
                     to_string(name.arch), to_string(device));
}

std::string missing_remedy(const KernelVerdict& verdict, const BinaryReport& report, const KernelName& name,
                           ComputeCapability device) {
  if (name.cutlass && !kernels_for(name.cutlass->arch, device)) {
    return other_architecture(*name.cutlass, device);
  }
  if (any_feature_target(verdict, report) && !same_major(verdict, report, device)) {
    return rebuild(device) + ", if its source does not use another architecture's own instructions";
  }
  return rebuild(device);
}

// Threads of a block, as far as the image tells: the exact shape, or the largest that it was compiled for.
std::int64_t threads_of(const KernelInfo& kernel) {
  if (kernel.required_block) return kernel.required_block->threads();
  return kernel.max_block ? kernel.max_block->threads() : 0;
}

bool judge_registers(KernelVerdict& verdict, const KernelInfo& kernel, const VerdictDevice& device) {
  if (!kernel.registers) return true;
  if (*kernel.registers > device.registers_per_thread) {
    set(verdict, VerdictCode::registers_over,
        fmt::format("{} registers a thread, of {}", *kernel.registers, device.registers_per_thread),
        "compile with __launch_bounds__ or -maxrregcount");
    return false;
  }
  const std::int64_t threads = threads_of(kernel);
  const std::int64_t needed = block_registers(*kernel.registers, threads);
  if (needed <= device.registers_per_block) return true;
  set(verdict, VerdictCode::registers_over,
      fmt::format("{} registers x {} threads take {} of a block's {}, {} over", *kernel.registers, threads, needed,
                  device.registers_per_block, needed - device.registers_per_block),
      "compile with __launch_bounds__ for the block it is launched with, or launch fewer threads");
  return false;
}

std::string remedies_text(const std::vector<CutlassRemedy>& remedies) {
  std::string text;
  for (const CutlassRemedy& remedy : remedies) {
    if (!remedy.fits) continue;
    text += fmt::format("{}{} ({} B)", text.empty() ? "" : ", or ", remedy.change, remedy.total);
  }
  return text.empty() ? "a smaller tile" : text;
}

// The limit that the shared memory is held against: the device's, or that of the architecture the kernel is made for.
std::int64_t limit_of(const NamedStorage& storage, const VerdictOptions& options) {
  if (options.device) return options.device->smem_per_block;
  return storage.kernel ? storage.kernel->limit : 0;
}

bool judge_shared(KernelVerdict& verdict, const KernelInfo& kernel, const NamedStorage& storage,
                  const VerdictOptions& options) {
  verdict.shared_limit = limit_of(storage, options);
  verdict.dynamic_unknown = storage.unknown;
  if (storage.kernel) verdict.dynamic_shared_bytes = storage.kernel->total;
  const std::int64_t fixed = kernel.static_shared_bytes.value_or(0);
  const std::int64_t total = fixed + verdict.dynamic_shared_bytes.value_or(0);
  if (verdict.shared_limit == 0 || total <= verdict.shared_limit) return true;
  verdict.over_bytes = total - verdict.shared_limit;
  std::string remedy = "less static shared memory";
  if (storage.kernel) {
    if (auto remedies = cutlass_remedies(*storage.kernel)) verdict.remedies = std::move(*remedies);
    remedy = remedies_text(verdict.remedies);
  }
  set(verdict, VerdictCode::smem_over,
      fmt::format("{} B of shared memory{}, {} B over the {} B that a block may have", total,
                  fixed > 0 ? fmt::format(" ({} of them static)", fixed) : "", verdict.over_bytes,
                  verdict.shared_limit),
      std::move(remedy));
  return false;
}

bool judge_pdl(KernelVerdict& verdict, const KernelInfo& kernel, const VerdictOptions& options) {
  if (!options.pdl || kernel.griddep_wait.value_or(1) > 0) return true;
  const int launches = kernel.griddep_launch.value_or(0);
  set(verdict, VerdictCode::pdl_without_wait,
      launches > 0
          ? fmt::format("launches its dependents ({} places) and never waits for the kernel before it", launches)
          : "has no griddepcontrol.wait: under PDL it reads before the kernel before it has written",
      "build with -DCUTLASS_ENABLE_GDC_FOR_SM90=1 (SM90) or -DCUTLASS_ENABLE_GDC_FOR_SM100=1 (SM10x, SM12x), or launch "
      "it without the PDL attribute");
  return false;
}

// CUTLASS compiles a kernel of another architecture too; what it puts in the place of the instructions traps.
bool judge_architecture(KernelVerdict& verdict, const KernelName& name, const VerdictDevice& device) {
  if (!name.cutlass || kernels_for(name.cutlass->arch, device.capability)) return true;
  set(verdict, VerdictCode::no_image,
      fmt::format("made of {}'s instructions, which no image for {} can hold: one loads, and the kernel in it traps",
                  to_string(name.cutlass->arch), to_string(device.capability)),
      other_architecture(*name.cutlass, device.capability));
  return false;
}

std::string fits_text(const KernelVerdict& verdict, const KernelInfo& kernel) {
  if (verdict.shared_limit == 0) return "nothing to hold it against";
  const std::int64_t total = kernel.static_shared_bytes.value_or(0) + verdict.dynamic_shared_bytes.value_or(0);
  return fmt::format("{} B of shared memory, {} B to spare", total, verdict.shared_limit - total);
}

// A target that does not match is not a matter of memory; whether memory would be the next one is worth knowing.
std::string rebuilt_text(std::int64_t total, std::int64_t limit) {
  if (total <= limit) return fmt::format("its {} B of shared memory would fit", total);
  return fmt::format("built for it, it would ask for {} B of shared memory, {} B over", total, total - limit);
}

}  // namespace

NamedStorage storage_of(const KernelName& name) {
  NamedStorage storage;
  if (!name.cutlass) {
    storage.unknown = "not a CUTLASS 3.x GEMM: its name does not tell";
    return storage;
  }
  auto kernel = cutlass_storage(*name.cutlass);
  if (kernel) {
    storage.kernel = std::move(*kernel);
  } else {
    storage.unknown = kernel.error().cause;
  }
  return storage;
}

std::int64_t block_registers(int registers, std::int64_t threads) {
  return round_up(registers * kWarp, kWarpRegisterUnit) * (round_up(threads, kWarp) / kWarp);
}

void judge_missing(KernelVerdict& verdict, const BinaryReport& report, const KernelName& name,
                   const NamedStorage& storage, const VerdictDevice& device, std::optional<std::size_t> loaded) {
  const std::string present = targets_of(verdict, report);
  std::string message = fmt::format("built for {}; none of it runs on {}", present, to_string(device.capability));
  if (loaded) {
    message = fmt::format("built for {}; on {} the driver loads {}, which does not hold it", present,
                          to_string(device.capability), target_name(report.images[*loaded]));
  }
  if (storage.kernel && kernels_for(name.cutlass->arch, device.capability)) {
    message += "; " + rebuilt_text(storage.kernel->total, device.smem_per_block);
  }
  set(verdict, VerdictCode::no_image, std::move(message), missing_remedy(verdict, report, name, device.capability));
}

void judge_loaded(KernelVerdict& verdict, const KernelInfo& kernel, const KernelName& name, const NamedStorage& storage,
                  const VerdictOptions& options) {
  if (options.device && !judge_architecture(verdict, name, *options.device)) return;
  if (!judge_shared(verdict, kernel, storage, options)) return;
  if (options.device && !judge_registers(verdict, kernel, *options.device)) return;
  if (!judge_pdl(verdict, kernel, options)) return;
  if (!verdict.dynamic_shared_bytes) {
    set(verdict, VerdictCode::unknown_smem, "dynamic shared memory not known: " + storage.unknown);
    return;
  }
  set(verdict, VerdictCode::ok, fits_text(verdict, kernel));
}

}  // namespace tilewright::inspect
