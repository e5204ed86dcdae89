// Which instruction set the CPU backend runs on: chosen once, at run time, from what the processor reports.
#pragma once

#include <string>
#include <vector>

#include "tilewright/result.hpp"

namespace tilewright::cpu {

enum class IsaTier {
  portable,     ///< plain C++
  avx2,         ///< AVX2 + FMA: vpmaddubsw
  avx512,       ///< AVX-512 F/BW/DQ/VL: vpmaddubsw on 64 bytes
  avx512_vnni,  ///< + VNNI: vpdpbusd
  avx512_bf16,  ///< + BF16: vpdpbusd, and vdpbf16ps for w4a16
  amx_bf16,     ///< AVX-512 with VNNI, VBMI and FP16, and AMX: vpdpbusd for few rows, tdpbf16ps for more
};

const char* to_string(IsaTier tier);

/// The tiers that this processor and build can run, lowest first; `portable` always.
std::vector<IsaTier> available_tiers();

/// The tier that runs by default: the highest available.
IsaTier best_tier();

/// A tier by name; an unknown name lists all, and one that this processor lacks is `unsupported`.
Result<IsaTier> select_tier(const std::string& name);

}  // namespace tilewright::cpu
