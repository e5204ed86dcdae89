#include "tilewright/arch.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>

namespace tilewright {
namespace {

struct ArchName {
  Arch arch;
  const char* name;
  int major;
  int minor;
};

constexpr std::array<ArchName, 6> kGpuArchs = {{
    {Arch::sm_90, "sm_90", 9, 0},
    {Arch::sm_100, "sm_100", 10, 0},
    {Arch::sm_103, "sm_103", 10, 3},
    {Arch::sm_110, "sm_110", 11, 0},
    {Arch::sm_120, "sm_120", 12, 0},
    {Arch::sm_121, "sm_121", 12, 1},
}};

constexpr const char* kKnownArchs = "known: sm_90, sm_100, sm_103, sm_110, sm_120, sm_121, cpu";

// "SM_120a", "sm120", "compute_120f" and "12.0" all become "120".
std::string digits_of_target(const std::string& name) {
  std::string lower;
  for (const char c : name) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const char* prefix : {"sm_", "compute_", "sm"}) {
    const std::string text = prefix;
    if (lower.compare(0, text.size(), text) == 0) {
      lower.erase(0, text.size());
      break;
    }
  }
  // The suffixes of arch-specific and family-specific targets say what may be compiled, not where it runs.
  if (!lower.empty() && (lower.back() == 'a' || lower.back() == 'f')) lower.pop_back();
  const std::size_t dot = lower.find('.');
  if (dot != std::string::npos && dot + 2 == lower.size()) lower.erase(dot, 1);
  return lower;
}

}  // namespace

const char* to_string(Arch arch) {
  for (const ArchName& known : kGpuArchs) {
    if (known.arch == arch) return known.name;
  }
  return "cpu";
}

Result<Arch> find_arch(const std::string& name) {
  if (name == "cpu" || name == "CPU") return Arch::cpu;
  const std::string digits = digits_of_target(name);
  for (const ArchName& known : kGpuArchs) {
    if (digits == known.name + 3) return known.arch;
  }
  return fail(ErrorCode::not_found, fmt::format("architecture \"{}\" is not known", name), kKnownArchs);
}

Result<Arch> arch_of(int major, int minor) {
  for (const ArchName& known : kGpuArchs) {
    if (known.major == major && known.minor == minor) return known.arch;
  }
  return fail(ErrorCode::unsupported, fmt::format("compute capability {}.{} is not known", major, minor),
              "known: 9.0, 10.0, 10.3, 11.0, 12.0, 12.1; none of them stands in for another");
}

static_assert(smem_per_block(Arch::sm_90) == 232448 && smem_per_block(Arch::sm_110) == 232448);
static_assert(smem_per_block(Arch::sm_120) == 101376 && smem_per_block(Arch::sm_121) == 101376);

}  // namespace tilewright
