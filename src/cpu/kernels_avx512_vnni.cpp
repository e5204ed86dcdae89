// AVX-512 with VNNI.
#include "cpu/kernels_avx512.inl.hpp"

namespace tilewright::cpu {

const KernelTable kAvx512VnniKernels = {IsaTier::avx512_vnni, integer_kernels<true, 2>(), integer_kernels<true, 1>(),
                                        kRowKernels};

}  // namespace tilewright::cpu
