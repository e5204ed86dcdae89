#include "cpu/isa.hpp"

#include <fmt/format.h>

#include <algorithm>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace tilewright::cpu {
namespace {

constexpr IsaTier kAllTiers[] = {IsaTier::portable,    IsaTier::avx2,        IsaTier::avx512,
                                 IsaTier::avx512_vnni, IsaTier::avx512_bf16, IsaTier::amx_bf16};

#if defined(__x86_64__)
/// AMX with bf16, the vector extensions that its kernels use, and the system's leave to use tile registers, which
/// holds for all threads of the process. Read from cpuid, because not every compiler's __builtin_cpu_supports knows
/// the names.
bool has_tiles() {
  constexpr unsigned kVbmi = 1U << 1;                                 // ecx
  constexpr unsigned kBf16Fp16Tile = 1U << 22 | 1U << 23 | 1U << 24;  // edx: amx_bf16, avx512_fp16, amx_tile
  constexpr int kRequestPermission = 0x1023;                          // arch_prctl(2): ARCH_REQ_XCOMP_PERM
  constexpr int kTileData = 18;                                       // the state component of tile registers
  static const bool granted = [] {
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
    if ((ecx & kVbmi) == 0 || (edx & kBf16Fp16Tile) != kBf16Fp16Tile) return false;
    return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  }();
  return granted;
}
#endif

bool runs_here(IsaTier tier) {
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  const bool vnni = avx512 && __builtin_cpu_supports("avx512vnni");
  switch (tier) {
    case IsaTier::portable: return true;
    case IsaTier::avx2: return avx2;
    case IsaTier::avx512: return avx512;
    case IsaTier::avx512_vnni: return vnni;
    case IsaTier::avx512_bf16: return vnni && __builtin_cpu_supports("avx512bf16");
    case IsaTier::amx_bf16: return vnni && has_tiles();
  }
#endif
  return tier == IsaTier::portable;
}

}  // namespace

const char* to_string(IsaTier tier) {
  switch (tier) {
    case IsaTier::portable: return "portable";
    case IsaTier::avx2: return "avx2";
    case IsaTier::avx512: return "avx512";
    case IsaTier::avx512_vnni: return "avx512_vnni";
    case IsaTier::avx512_bf16: return "avx512_bf16";
    case IsaTier::amx_bf16: return "amx_bf16";
  }
  return "unknown";
}

std::vector<IsaTier> available_tiers() {
  std::vector<IsaTier> tiers;
  std::copy_if(std::begin(kAllTiers), std::end(kAllTiers), std::back_inserter(tiers), runs_here);
  return tiers;
}

IsaTier best_tier() { return available_tiers().back(); }

Result<IsaTier> select_tier(const std::string& name) {
  std::string names;
  for (const IsaTier tier : kAllTiers) {
    if (name == to_string(tier)) {
      if (runs_here(tier)) return tier;
      return fail(ErrorCode::unsupported, fmt::format("this processor cannot run the '{}' kernels", name),
                  fmt::format("the best it has is '{}'", to_string(best_tier())));
    }
    names += fmt::format("{}{}", names.empty() ? "" : ", ", to_string(tier));
  }
  return fail(ErrorCode::invalid_argument, fmt::format("unknown instruction set '{}'", name), "one of " + names);
}

}  // namespace tilewright::cpu
