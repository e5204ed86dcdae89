// judge_binary: modules, the image of each that a driver takes, and every kernel in it.
#include "inspect/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "inspect/verdict_image.hpp"
#include "tilewright/device.hpp"

namespace tilewright {
namespace {

using inspect::NamedStorage;

// Every architecture that is judged has these (CUDA programming guide, technical specifications per compute
// capability, 9.0 to 12.1).
constexpr std::int64_t kRegistersPerBlock = 65536;
constexpr int kRegistersPerThread = 255;

// Kernels that one image holds and another does not are rare; most modules hold each in all of them.
class Judge {
 public:
  Judge(const BinaryReport& report, const VerdictOptions& options) : report_(report), options_(options) {
    // Objects that were not linked stay in a binary beside what was linked of them.
    for (const CodeImage& image : report.images) {
      if (image.relocatable) continue;
      for (const KernelInfo& kernel : image.kernels) linked_.insert(kernel.symbol);
    }
  }

  BinaryVerdict take() {
    for (const inspect::Module& module : inspect::modules_of(report_)) judge(module);
    return std::move(verdict_);
  }

 private:
  struct Held {
    std::size_t image;
    std::size_t kernel;
  };

  void judge(const inspect::Module& module) {
    std::vector<const std::string*> order;
    std::unordered_map<std::string_view, std::vector<Held>> holders;
    for (const std::size_t i : module.images) {
      const std::vector<KernelInfo>& kernels = report_.images[i].kernels;
      for (std::size_t k = 0; k < kernels.size(); ++k) {
        const KernelInfo& kernel = kernels[k];
        if (report_.images[i].relocatable && linked_.count(kernel.symbol) != 0) continue;
        auto& held = holders[kernel.symbol];
        if (held.empty()) order.push_back(&kernel.symbol);
        held.push_back({i, k});
      }
    }
    std::optional<std::size_t> loaded;
    if (options_.device) loaded = inspect::loaded_image(report_, module, options_.device->capability);
    for (const std::string* symbol : order) add(module, *symbol, holders[*symbol], loaded);
  }

  void add(const inspect::Module& module, const std::string& symbol, const std::vector<Held>& held,
           std::optional<std::size_t> loaded) {
    KernelVerdict verdict;
    verdict.symbol = symbol_of(symbol);
    verdict.member = module.member;
    for (const Held& each : held) verdict.images.push_back(each.image);
    const KernelName& name = verdict_.symbols[verdict.symbol].name;
    const NamedStorage& storage = storage_[verdict.symbol];
    // Without a device every image is as good: the first one tells registers and static shared memory.
    const auto judged = !options_.device ? held.begin() : std::find_if(held.begin(), held.end(), [&](const Held& each) {
      return each.image == loaded;
    });
    if (judged == held.end()) {
      inspect::judge_missing(verdict, report_, name, storage, *options_.device, loaded);
      if (storage.kernel) verdict.dynamic_shared_bytes = storage.kernel->total;
      verdict.dynamic_unknown = storage.unknown;
    } else {
      verdict.image = judged->image;
      verdict.kernel = judged->kernel;
      inspect::judge_loaded(verdict, report_.images[judged->image].kernels[judged->kernel], name, storage, options_);
    }
    ++verdict_.counts[static_cast<std::size_t>(verdict.code)];
    verdict_.kernels.push_back(std::move(verdict));
  }

  std::size_t symbol_of(const std::string& symbol) {
    const auto [entry, added] = known_.emplace(symbol, verdict_.symbols.size());
    if (added) {
      verdict_.symbols.push_back({symbol, decode_kernel_name(symbol)});
      storage_.push_back(inspect::storage_of(verdict_.symbols.back().name));
    }
    return entry->second;
  }

  const BinaryReport& report_;
  const VerdictOptions& options_;
  std::set<std::string_view> linked_;
  std::unordered_map<std::string_view, std::size_t> known_;
  std::vector<NamedStorage> storage_;
  BinaryVerdict verdict_;
};

VerdictDevice limits_of(const Device& device, ComputeCapability capability, std::string name) {
  return {capability, std::move(name), device.smem_per_block,
          device.registers_per_sm > 0 ? std::min<std::int64_t>(device.registers_per_sm, kRegistersPerBlock)
                                      : kRegistersPerBlock,
          device.registers_per_thread > 0 ? device.registers_per_thread : kRegistersPerThread};
}

}  // namespace

bool BinaryVerdict::stopped() const {
  for (std::size_t code = 0; code < kVerdictCodes; ++code) {
    if (stops_launch(static_cast<VerdictCode>(code)) && counts[code] > 0) return true;
  }
  return false;
}

const char* to_string(VerdictCode code) {
  switch (code) {
    case VerdictCode::ok: return "ok";
    case VerdictCode::unknown_smem: return "unknown_smem";
    case VerdictCode::no_image: return "no_image";
    case VerdictCode::smem_over: return "smem_over";
    case VerdictCode::registers_over: return "registers_over";
    case VerdictCode::pdl_without_wait: return "pdl_without_wait";
  }
  return "unknown_smem";
}

Result<VerdictDevice> verdict_device(ComputeCapability capability) {
  TILEWRIGHT_ASSIGN(const Arch arch, arch_of(capability.major, capability.minor));
  TILEWRIGHT_ASSIGN(const Device device, default_device(arch));
  return limits_of(device, capability, to_string(capability));
}

Result<VerdictDevice> verdict_device(const std::string& name) {
  TILEWRIGHT_ASSIGN(const Device device, find_device(name));
  TILEWRIGHT_ASSIGN(const ComputeCapability capability, find_compute_capability(to_string(device.arch)));
  return limits_of(device, capability, device.name);
}

BinaryVerdict judge_binary(const BinaryReport& report, const VerdictOptions& options) {
  return Judge(report, options).take();
}

}  // namespace tilewright
