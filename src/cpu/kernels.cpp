#include "cpu/kernels.hpp"

namespace tilewright::cpu {

const KernelTable& kernels(IsaTier tier) {
#if defined(__x86_64__)
  switch (tier) {
    case IsaTier::portable: break;
    case IsaTier::avx2: return kAvx2Kernels;
    case IsaTier::avx512: return kAvx512Kernels;
    case IsaTier::avx512_vnni: return kAvx512VnniKernels;
    case IsaTier::avx512_bf16: return kAvx512Bf16Kernels;
    case IsaTier::amx_bf16: return kAmxBf16Kernels;
  }
#endif
  return kPortableKernels;
}

}  // namespace tilewright::cpu
