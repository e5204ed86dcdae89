// AVX-512 with VNNI and BF16: w4a4 by vpdpbusd, w4a16 by vdpbf16ps (32 multiply-adds of bf16 pairs into 16 fp32).
//
// e2m1 * ue4m3 is exact in bf16 (6 significant bits), so a panel holds the finished weights and the inner loop is the
// dot product alone. With few rows the scale is applied to a block's sum instead, which takes fewer instructions than
// scaling the weights. vdpbf16ps treats subnormal inputs as zero: the smallest weight product is 2^-10, and a bf16
// activation below 2^-126 counts as zero.
#include "cpu/kernels_avx512.inl.hpp"

namespace tilewright::cpu {
namespace {

constexpr int kRecord = record_bytes(RowFormat::bf16);
constexpr int kPairs = kBlockK / 2;  // bf16 pairs of a block

/// bf16 of the 16 e2m1 codes, twice: vpermw looks up 5 bits.
alignas(64) constexpr std::uint16_t kBf16Table[32] = {0x0000, 0x3F00, 0x3F80, 0x3FC0, 0x4000, 0x4040, 0x4080, 0x40C0,
                                                      0x8000, 0xBF00, 0xBF80, 0xBFC0, 0xC000, 0xC040, 0xC080, 0xC0C0,
                                                      0x0000, 0x3F00, 0x3F80, 0x3FC0, 0x4000, 0x4040, 0x4080, 0x40C0,
                                                      0x8000, 0xBF00, 0xBF80, 0xBFC0, 0xC000, 0xC040, 0xC080, 0xC0C0};

inline __m512bh as_bf16(__m512i x) {
  __m512bh out;
  __builtin_memcpy(&out, &x, sizeof(out));
  return out;
}

inline __m512 dot_bf16(__m512 total, __m512i weights, __m512i x) {
  return _mm512_dpbf16_ps(total, as_bf16(weights), as_bf16(x));
}

/// The eight bf16 pairs of a block, in the order of a bf16 record: (0, 2), (1, 3), (4, 6), (5, 7), ... vpermw looks at
/// the low five bits of a 16-bit lane, and the table repeats after sixteen, so a shift alone brings a code into place:
/// bytes 0 and 2 of a row's four hold k and k + 2 in their low nibbles, k + 4 and k + 6 in their high ones.
inline void decode_block(const std::uint8_t* codes, __m512i (&pairs)[kPairs]) {
  const __m512i table = _mm512_load_si512(kBf16Table);
  for (int line = 0; line < 2; ++line) {
    const __m512i packed = _mm512_load_si512(codes + line * 64);
    pairs[4 * line] = _mm512_permutexvar_epi16(packed, table);
    pairs[4 * line + 1] = _mm512_permutexvar_epi16(_mm512_srli_epi16(packed, 8), table);
    pairs[4 * line + 2] = _mm512_permutexvar_epi16(_mm512_srli_epi16(packed, 4), table);
    pairs[4 * line + 3] = _mm512_permutexvar_epi16(_mm512_srli_epi16(packed, 12), table);
  }
}

template <int kRows>
void stream_bf16_rows(const std::uint8_t* strip, int groups, const std::uint8_t* const* rows, float* c) {
  __m512 total[kRows];
  const std::uint8_t* records[kRows];
  std::int64_t at = 0;
  for (int r = 0; r < kRows; ++r) {
    total[r] = _mm512_setzero_ps();
    records[r] = rows[r];
  }
  for (int g = 0; g < groups; ++g, strip += kGroupBytes) {
    prefetch_line(strip);
    for (int b = 0; b < kGroupBlocks; ++b) {
      const std::uint8_t* codes = strip + kGroupScaleBytes + b * kBlockCodeBytes;
      prefetch_line(codes);
      prefetch_line(codes + 64);
      __m512i pairs[kPairs];
      decode_block(codes, pairs);
      const __m512 scales = block_scales(strip + scale_offset(0, b));
      for (int r = 0; r < kRows; ++r) {
        __m512 even = _mm512_setzero_ps();
        __m512 odd = _mm512_setzero_ps();
        for (int p = 0; p < kPairs; p += 2) {
          even = dot_bf16(even, pairs[p], broadcast32(records[r] + at + 4 * p));
          odd = dot_bf16(odd, pairs[p + 1], broadcast32(records[r] + at + 4 * p + 4));
        }
        total[r] = _mm512_fmadd_ps(_mm512_add_ps(even, odd), scales, total[r]);
      }
      at += kRecord;
    }
  }
  for (int r = 0; r < kRows; ++r) {
    // Weights here are e2m1 itself; the contract of the kernels is the doubled code.
    _mm512_storeu_ps(c + r * kStripRows, _mm512_mul_ps(total[r], _mm512_set1_ps(2.0F * kScaleUnbias)));
  }
}

void expand_bf16_panel(const std::uint8_t* strip, int groups, std::uint8_t* panel) {
  const __m512 unbias = _mm512_set1_ps(2.0F * kScaleUnbias);
  const __m512i high = _mm512_set1_epi32(static_cast<int>(0xFFFF0000U));
  for (int g = 0; g < groups; ++g, strip += kGroupBytes) {
    for (int b = 0; b < kGroupBlocks; ++b) {
      __m512i pairs[kPairs];
      decode_block(strip + kGroupScaleBytes + b * kBlockCodeBytes, pairs);
      const __m512 scales = _mm512_mul_ps(block_scales(strip + scale_offset(0, b)), unbias);
      for (int p = 0; p < kPairs; ++p, panel += 64) {
        // Both products fit bf16, so the upper halves of the fp32 products are the results.
        const __m512 first = _mm512_mul_ps(_mm512_castsi512_ps(_mm512_slli_epi32(pairs[p], 16)), scales);
        const __m512 second = _mm512_mul_ps(_mm512_castsi512_ps(_mm512_and_si512(pairs[p], high)), scales);
        _mm512_store_si512(panel, _mm512_or_si512(_mm512_srli_epi32(_mm512_castps_si512(first), 16),
                                                  _mm512_and_si512(_mm512_castps_si512(second), high)));
      }
    }
  }
}

template <int kRows>
void panel_bf16_rows(const std::uint8_t* panel, int groups, const std::uint8_t* const* rows, float* c) {
  __m512 total[kRows];
  const std::uint8_t* records[kRows];
  for (int r = 0; r < kRows; ++r) {
    total[r] = _mm512_loadu_ps(c + r * kStripRows);
    records[r] = rows[r];
  }
  for (int p = 0; p < groups * kGroupBlocks * kPairs; ++p, panel += 64) {
    const __m512i weights = _mm512_load_si512(panel);
    for (int r = 0; r < kRows; ++r) total[r] = dot_bf16(total[r], weights, broadcast32(records[r] + 4 * p));
  }
  for (int r = 0; r < kRows; ++r) _mm512_storeu_ps(c + r * kStripRows, total[r]);
}

void stream_bf16(const std::uint8_t* strip, int groups, const std::uint8_t* const* rows, int count, float* c) {
  switch (count) {
    case 1: return stream_bf16_rows<1>(strip, groups, rows, c);
    case 2: return stream_bf16_rows<2>(strip, groups, rows, c);
    case 3: return stream_bf16_rows<3>(strip, groups, rows, c);
    default: return stream_bf16_rows<4>(strip, groups, rows, c);
  }
}

void panel_bf16(const std::uint8_t* panel, int groups, const std::uint8_t* const* rows, int count, float* c) {
  int r = 0;
  for (; r + 12 <= count; r += 12) panel_bf16_rows<12>(panel, groups, rows + r, c + r * kStripRows);
  for (; r + 4 <= count; r += 4) panel_bf16_rows<4>(panel, groups, rows + r, c + r * kStripRows);
  for (; r < count; ++r) panel_bf16_rows<1>(panel, groups, rows + r, c + r * kStripRows);
}

double bf16_peak(std::int64_t iterations) {
  // As integer_peak; the accumulators start from zero, because infinities or subnormals could take another time.
  const __m512 zero = _mm512_setzero_ps();
  for (std::int64_t i = 0; i < iterations; ++i) {
    asm volatile(
        "vmovaps %0, %%zmm0\n\tvmovaps %0, %%zmm1\n\t"
        "vdpbf16ps %%zmm0, %%zmm1, %%zmm8\n\t"
        "vdpbf16ps %%zmm0, %%zmm1, %%zmm9\n\t"
        "vdpbf16ps %%zmm0, %%zmm1, %%zmm10\n\t"
        "vdpbf16ps %%zmm0, %%zmm1, %%zmm11\n\t"
        "vdpbf16ps %%zmm0, %%zmm1, %%zmm12\n\t"
        "vdpbf16ps %%zmm0, %%zmm1, %%zmm13\n\t"
        "vdpbf16ps %%zmm0, %%zmm1, %%zmm14\n\t"
        "vdpbf16ps %%zmm0, %%zmm1, %%zmm15\n\t"
        "vdpbf16ps %%zmm0, %%zmm1, %%zmm16\n\t"
        "vdpbf16ps %%zmm0, %%zmm1, %%zmm17\n\t"
        "vdpbf16ps %%zmm0, %%zmm1, %%zmm18\n\t"
        "vdpbf16ps %%zmm0, %%zmm1, %%zmm19\n\t"
        "vdpbf16ps %%zmm0, %%zmm1, %%zmm20\n\t"
        "vdpbf16ps %%zmm0, %%zmm1, %%zmm21\n\t"
        "vdpbf16ps %%zmm0, %%zmm1, %%zmm22\n\t"
        "vdpbf16ps %%zmm0, %%zmm1, %%zmm23\n\t" ::"v"(zero)
        : "xmm0", "xmm1", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "xmm16", "xmm17",
          "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23");
  }
  return static_cast<double>(iterations) * 16 * 32;
}

}  // namespace

const KernelTable kAvx512Bf16Kernels = {
    IsaTier::avx512_bf16,
    {RowFormat::bf16, RowFormat::bf16, "vdpbf16ps (zmm)", 1, 4, 4, 12, stream_bf16, expand_bf16_panel, panel_bf16,
     bf16_peak},
    integer_kernels<true, 1>(),
    kRowKernels,
};

}  // namespace tilewright::cpu
