// wgmma with A in registers and B in shared memory: D[64, N] += A[64, 16] * B[16, N], bf16 operands, fp32 sums.
//
// A (weights): thread 32w + 4g + t of the warpgroup holds rows 16w + g and 16w + g + 8: a[0], a[2] of the first and
// a[1], a[3] of the second, k = 2t, 2t + 1 in a[0], a[1] and k = 2t + 8, 2t + 9 in a[2], a[3].
// B (tokens): K-major in 128-byte swizzle. D: d[4j + i], i = 0..3, is row g (i < 2) or g + 8, column 8j + 2t + i % 2.
// Registers of A and D are in use from the instruction to the wait for its group.
#pragma once

#include <cstdint>

namespace tilewright::cuda::ptx {

/// Orders register accesses before the wgmmas that follow; needed wherever A or D were written.
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Waits until at most `kGroups` committed groups are in flight.
template <int kGroups>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kGroups) : "memory");
}

/// Descriptor of a K-major tile in 128-byte swizzle whose atoms (8 rows of 128 bytes) follow each other: start address
/// / 16, leading offset (not used when swizzled) 0, stride of 8 rows 1,024 bytes, swizzle mode 1 in bits 62-63 (PTX
/// ISA, "Matrix descriptor format").
__device__ __forceinline__ std::uint64_t swizzled_descriptor(std::uint32_t address) {
  return std::uint64_t{1} << 62U | std::uint64_t{1024 >> 4} << 32U | (address & 0x3FFFFU) >> 4U;
}

/// d += a * B(descriptor) for N tokens; the first N / 2 of d are used.
template <int N>
struct Wgmma;

// Placeholders and operands of four accumulators, and lists of 1, 2, 3, ... such groups.
#define TW_P0 "%0, %1, %2, %3"
#define TW_P1 "%4, %5, %6, %7"
#define TW_P2 "%8, %9, %10, %11"
#define TW_P3 "%12, %13, %14, %15"
#define TW_P4 "%16, %17, %18, %19"
#define TW_P5 "%20, %21, %22, %23"
#define TW_P6 "%24, %25, %26, %27"
#define TW_P7 "%28, %29, %30, %31"
#define TW_P8 "%32, %33, %34, %35"
#define TW_P9 "%36, %37, %38, %39"
#define TW_P10 "%40, %41, %42, %43"
#define TW_P11 "%44, %45, %46, %47"
#define TW_P12 "%48, %49, %50, %51"
#define TW_P13 "%52, %53, %54, %55"
#define TW_P14 "%56, %57, %58, %59"
#define TW_P15 "%60, %61, %62, %63"
#define TW_P16 "%64, %65, %66, %67"
#define TW_P17 "%68, %69, %70, %71"
#define TW_P18 "%72, %73, %74, %75"
#define TW_P19 "%76, %77, %78, %79"
#define TW_P20 "%80, %81, %82, %83"
#define TW_P21 "%84, %85, %86, %87"
#define TW_P22 "%88, %89, %90, %91"
#define TW_P23 "%92, %93, %94, %95"
#define TW_P24 "%96, %97, %98, %99"
#define TW_P25 "%100, %101, %102, %103"
#define TW_P26 "%104, %105, %106, %107"
#define TW_P27 "%108, %109, %110, %111"
#define TW_P28 "%112, %113, %114, %115"
#define TW_P29 "%116, %117, %118, %119"
#define TW_P30 "%120, %121, %122, %123"
#define TW_P31 "%124, %125, %126, %127"
#define TW_D(i) "+f"(d[4 * (i)]), "+f"(d[4 * (i) + 1]), "+f"(d[4 * (i) + 2]), "+f"(d[4 * (i) + 3])
#define TW_P_1 TW_P0
#define TW_D_1 TW_D(0)
#define TW_P_2 TW_P_1 ", " TW_P1
#define TW_D_2 TW_D_1, TW_D(1)
#define TW_P_3 TW_P_2 ", " TW_P2
#define TW_D_3 TW_D_2, TW_D(2)
#define TW_P_4 TW_P_3 ", " TW_P3
#define TW_D_4 TW_D_3, TW_D(3)
#define TW_P_5 TW_P_4 ", " TW_P4
#define TW_D_5 TW_D_4, TW_D(4)
#define TW_P_6 TW_P_5 ", " TW_P5
#define TW_D_6 TW_D_5, TW_D(5)
#define TW_P_7 TW_P_6 ", " TW_P6
#define TW_D_7 TW_D_6, TW_D(6)
#define TW_P_8 TW_P_7 ", " TW_P7
#define TW_D_8 TW_D_7, TW_D(7)
#define TW_P_9 TW_P_8 ", " TW_P8
#define TW_D_9 TW_D_8, TW_D(8)
#define TW_P_10 TW_P_9 ", " TW_P9
#define TW_D_10 TW_D_9, TW_D(9)
#define TW_P_11 TW_P_10 ", " TW_P10
#define TW_D_11 TW_D_10, TW_D(10)
#define TW_P_12 TW_P_11 ", " TW_P11
#define TW_D_12 TW_D_11, TW_D(11)
#define TW_P_13 TW_P_12 ", " TW_P12
#define TW_D_13 TW_D_12, TW_D(12)
#define TW_P_14 TW_P_13 ", " TW_P13
#define TW_D_14 TW_D_13, TW_D(13)
#define TW_P_15 TW_P_14 ", " TW_P14
#define TW_D_15 TW_D_14, TW_D(14)
#define TW_P_16 TW_P_15 ", " TW_P15
#define TW_D_16 TW_D_15, TW_D(15)
#define TW_P_17 TW_P_16 ", " TW_P16
#define TW_D_17 TW_D_16, TW_D(16)
#define TW_P_18 TW_P_17 ", " TW_P17
#define TW_D_18 TW_D_17, TW_D(17)
#define TW_P_19 TW_P_18 ", " TW_P18
#define TW_D_19 TW_D_18, TW_D(18)
#define TW_P_20 TW_P_19 ", " TW_P19
#define TW_D_20 TW_D_19, TW_D(19)
#define TW_P_21 TW_P_20 ", " TW_P20
#define TW_D_21 TW_D_20, TW_D(20)
#define TW_P_22 TW_P_21 ", " TW_P21
#define TW_D_22 TW_D_21, TW_D(21)
#define TW_P_23 TW_P_22 ", " TW_P22
#define TW_D_23 TW_D_22, TW_D(22)
#define TW_P_24 TW_P_23 ", " TW_P23
#define TW_D_24 TW_D_23, TW_D(23)
#define TW_P_25 TW_P_24 ", " TW_P24
#define TW_D_25 TW_D_24, TW_D(24)
#define TW_P_26 TW_P_25 ", " TW_P25
#define TW_D_26 TW_D_25, TW_D(25)
#define TW_P_27 TW_P_26 ", " TW_P26
#define TW_D_27 TW_D_26, TW_D(26)
#define TW_P_28 TW_P_27 ", " TW_P27
#define TW_D_28 TW_D_27, TW_D(27)
#define TW_P_29 TW_P_28 ", " TW_P28
#define TW_D_29 TW_D_28, TW_D(28)
#define TW_P_30 TW_P_29 ", " TW_P29
#define TW_D_30 TW_D_29, TW_D(29)
#define TW_P_31 TW_P_30 ", " TW_P30
#define TW_D_31 TW_D_30, TW_D(30)
#define TW_P_32 TW_P_31 ", " TW_P31
#define TW_D_32 TW_D_31, TW_D(31)

// One size: tokens, tokens / 8, and the places of a[0..3] and the descriptor behind the accumulators.
#define TW_WGMMA(tokens, groups, a0, a1, a2, a3, b)                                                   \
  template <>                                                                                         \
  struct Wgmma<tokens> {                                                                              \
    template <int kSize>                                                                              \
    __device__ __forceinline__ static void run(float (&d)[kSize], const std::uint32_t* a, std::uint64_t descriptor) { \
      static_assert(kSize >= (tokens) / 2);                                                           \
      asm volatile("wgmma.mma_async.sync.aligned.m64n" #tokens "k16.f32.bf16.bf16 {" TW_P_##groups    \
                   "}, {%" #a0 ", %" #a1 ", %" #a2 ", %" #a3 "}, %" #b ", 1, 1, 1, 0;"                \
                   : TW_D_##groups                                                                    \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(descriptor));                    \
    }                                                                                                 \
  };
TW_WGMMA(8, 1, 4, 5, 6, 7, 8)
TW_WGMMA(16, 2, 8, 9, 10, 11, 12)
TW_WGMMA(24, 3, 12, 13, 14, 15, 16)
TW_WGMMA(32, 4, 16, 17, 18, 19, 20)
TW_WGMMA(40, 5, 20, 21, 22, 23, 24)
TW_WGMMA(48, 6, 24, 25, 26, 27, 28)
TW_WGMMA(56, 7, 28, 29, 30, 31, 32)
TW_WGMMA(64, 8, 32, 33, 34, 35, 36)
TW_WGMMA(80, 10, 40, 41, 42, 43, 44)
TW_WGMMA(96, 12, 48, 49, 50, 51, 52)
TW_WGMMA(112, 14, 56, 57, 58, 59, 60)
TW_WGMMA(128, 16, 64, 65, 66, 67, 68)
TW_WGMMA(144, 18, 72, 73, 74, 75, 76)
TW_WGMMA(160, 20, 80, 81, 82, 83, 84)
TW_WGMMA(176, 22, 88, 89, 90, 91, 92)
TW_WGMMA(192, 24, 96, 97, 98, 99, 100)
TW_WGMMA(208, 26, 104, 105, 106, 107, 108)
TW_WGMMA(224, 28, 112, 113, 114, 115, 116)
TW_WGMMA(240, 30, 120, 121, 122, 123, 124)
TW_WGMMA(256, 32, 128, 129, 130, 131, 132)

#undef TW_WGMMA
#undef TW_P0
#undef TW_P1
#undef TW_P2
#undef TW_P3
#undef TW_P4
#undef TW_P5
#undef TW_P6
#undef TW_P7
#undef TW_P8
#undef TW_P9
#undef TW_P10
#undef TW_P11
#undef TW_P12
#undef TW_P13
#undef TW_P14
#undef TW_P15
#undef TW_P16
#undef TW_P17
#undef TW_P18
#undef TW_P19
#undef TW_P20
#undef TW_P21
#undef TW_P22
#undef TW_P23
#undef TW_P24
#undef TW_P25
#undef TW_P26
#undef TW_P27
#undef TW_P28
#undef TW_P29
#undef TW_P30
#undef TW_P31
#undef TW_P_1
#undef TW_D_1
#undef TW_P_2
#undef TW_D_2
#undef TW_P_3
#undef TW_D_3
#undef TW_P_4
#undef TW_D_4
#undef TW_P_5
#undef TW_D_5
#undef TW_P_6
#undef TW_D_6
#undef TW_P_7
#undef TW_D_7
#undef TW_P_8
#undef TW_D_8
#undef TW_P_9
#undef TW_D_9
#undef TW_P_10
#undef TW_D_10
#undef TW_P_11
#undef TW_D_11
#undef TW_P_12
#undef TW_D_12
#undef TW_P_13
#undef TW_D_13
#undef TW_P_14
#undef TW_D_14
#undef TW_P_15
#undef TW_D_15
#undef TW_P_16
#undef TW_D_16
#undef TW_P_17
#undef TW_D_17
#undef TW_P_18
#undef TW_D_18
#undef TW_P_19
#undef TW_D_19
#undef TW_P_20
#undef TW_D_20
#undef TW_P_21
#undef TW_D_21
#undef TW_P_22
#undef TW_D_22
#undef TW_P_23
#undef TW_D_23
#undef TW_P_24
#undef TW_D_24
#undef TW_P_25
#undef TW_D_25
#undef TW_P_26
#undef TW_D_26
#undef TW_P_27
#undef TW_D_27
#undef TW_P_28
#undef TW_D_28
#undef TW_P_29
#undef TW_D_29
#undef TW_P_30
#undef TW_D_30
#undef TW_P_31
#undef TW_D_31
#undef TW_P_32
#undef TW_D_32
#undef TW_D

}  // namespace tilewright::cuda::ptx
