// Token counts that stand for all counts: a batch takes the kernels of the lowest bucket that is not below it.
#pragma once

#include <array>

namespace tilewright::schedule {

/// They lie where a schedule can change: every count while tiles are few, then steps of a quarter to a half.
inline constexpr std::array kTokenBuckets = {1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,
                                             64,  80,  96,  112,  128,  160,  192,  224,  256,  320,  384,
                                             448, 512, 768, 1024, 1536, 2048, 3072, 4096, 8192, 16384};

}  // namespace tilewright::schedule
