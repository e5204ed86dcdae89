// AVX-512 F/BW/DQ/VL, for processors before VNNI.
#include "cpu/kernels_avx512.inl.hpp"

namespace tilewright::cpu {

const KernelTable kAvx512Kernels = {IsaTier::avx512, integer_kernels<false, 2>(), integer_kernels<false, 1>(),
                                    kRowKernels};

}  // namespace tilewright::cpu
