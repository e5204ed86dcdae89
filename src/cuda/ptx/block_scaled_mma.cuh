// mma.sync: the block-scaled FP4 MMA of SM120 and SM121, and the fp16 and bf16 MMAs that every GPU from SM80 on has.
#pragma once

#include <cstdint>

namespace tilewright::cuda::ptx {

/// sums += A B of m16n8k64: e2m1 codes under one ue4m3 scale for 16 k (operand lanes: sm120/fragment_order.hpp). kTidA
/// and kTidB say which lanes' scale registers are read. For sm_120a, sm_120f, sm_121a and sm_121f alone.
template <int kTidA, int kTidB>
__device__ __forceinline__ void mma_mxf4nvf4(float (&sums)[4], const std::uint32_t (&a)[4], const std::uint32_t* b,
                                             std::uint32_t scales_a, std::uint32_t scales_b) {
  asm volatile(
      "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, {%10}, {0, %12}, {%11}, {0, %13};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(scales_a), "r"(scales_b), "n"(kTidA),
        "n"(kTidB));
}

/// sums += A B of m16n8k16 in fp16.
__device__ __forceinline__ void mma_f16(float (&sums)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t a2,
                                        std::uint32_t a3, std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

/// The same in bf16.
__device__ __forceinline__ void mma_bf16(float (&sums)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t a2,
                                         std::uint32_t a3, std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

}  // namespace tilewright::cuda::ptx
