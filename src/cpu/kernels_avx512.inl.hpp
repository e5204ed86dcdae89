// AVX-512 integer kernels, for the translation units that compile them: with VNNI (vpdpbusd: 64 multiply-adds of
// u8 x s8 into 16 int32) or without (vpmaddubsw + vpaddw, as on AVX2 but 16 rows wide).
//
// A zmm holds 16 weight rows x 4 k, so a strip is one accumulator. Everything here has internal linkage on purpose:
// each including file is compiled for another instruction set, and the linker must never merge their copies.
#pragma once

#include <immintrin.h>

#include "cpu/kernels.hpp"
#include "cpu/row_kernels.inl.hpp"

namespace tilewright::cpu {
namespace {  // NOLINT(google-build-namespaces,cert-dcl59-cpp): see above

// Lines are asked for twice: far ahead into L2, and near their use into L1. A line on its way to L1 holds one of the
// core's 16 fill buffers, for as long as memory takes if it comes from there (docs/kernels/cpu.md has what each gives).
constexpr int kStreamFarBytes = 12 * kGroupBytes;
constexpr int kStreamNearBytes = kGroupBytes;

inline void prefetch_line(const std::uint8_t* p) {
  _mm_prefetch(reinterpret_cast<const char*>(p + kStreamFarBytes), _MM_HINT_T1);
  _mm_prefetch(reinterpret_cast<const char*>(p + kStreamNearBytes), _MM_HINT_T0);
}

inline __m512i broadcast32(const std::uint8_t* p) {
  std::int32_t word = 0;
  __builtin_memcpy(&word, p, sizeof(word));
  return _mm512_set1_epi32(word);
}

inline __m512 broadcast_float(const std::uint8_t* p) { return _mm512_castsi512_ps(broadcast32(p)); }

inline __m512 block_scales(const std::uint8_t* scales) {
  const __m128i bytes = _mm_load_si128(reinterpret_cast<const __m128i*>(scales));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu8_epi32(bytes), kScaleShift));
}

inline __m512i weight_table() {
  return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(kWeightTable)));
}

/// Keeps an accumulator's chain of additions as written (see the AVX2 kernels).
inline void pin(__m512i& sum) { asm("" : "+v"(sum)); }

/// What differs between the two: adding 4-element products, and closing a block.
template <bool kVnni, int kPlanes>
struct IntegerDot {
  static constexpr RowFormat kFormat = kVnni ? (kPlanes == 1 ? RowFormat::codes_sum32 : RowFormat::wide_sum32)
                                             : (kPlanes == 1 ? RowFormat::codes_pair16 : RowFormat::wide_pair16);
  static constexpr int kRecordBytes = record_bytes(kFormat);

  /// The first k-step of a block.
  static __m512i first(const std::uint8_t* record, int plane, __m512i weights, __m512i x) {
    if constexpr (kVnni) {
      return _mm512_dpbusd_epi32(broadcast32(record + correction_offset(kPlanes, plane)), weights, x);
    } else {
      return _mm512_maddubs_epi16(weights, x);
    }
  }

  static __m512i add(__m512i sum, __m512i weights, __m512i x) {
    if constexpr (kVnni) {
      return _mm512_dpbusd_epi32(sum, weights, x);
    } else {
      return _mm512_add_epi16(sum, _mm512_maddubs_epi16(weights, x));
    }
  }

  /// The block's sum times its multiplier and `scales`, added to `total`.
  static __m512 close(const __m512i* sums, const std::uint8_t* record, __m512 scales, __m512 total) {
    const std::uint8_t* multiplier = record + multiplier_offset(kPlanes, 0);
    if constexpr (kVnni) {
      __m512i sum = sums[0];
      if constexpr (kPlanes == 2) sum = _mm512_add_epi32(_mm512_slli_epi32(sum, 8), sums[1]);
      return _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), _mm512_mul_ps(scales, broadcast_float(multiplier)), total);
    } else {
      __m512i sum = _mm512_madd_epi16(sums[0], broadcast32(multiplier));
      if constexpr (kPlanes == 2) {
        sum = _mm512_add_epi32(sum, _mm512_madd_epi16(sums[1], broadcast32(multiplier + 4)));
      }
      const __m512 correction = broadcast_float(record + correction_offset(kPlanes, 0));
      return _mm512_fmadd_ps(_mm512_add_ps(_mm512_cvtepi32_ps(sum), correction), scales, total);
    }
  }
};

/// One k-step of a block; step 0 sets the sums.
template <typename Dot, int kStep, int kPlanes, int kRows>
inline void dot_step(__m512i (&sums)[kRows][kPlanes], __m512i weights, const std::uint8_t* const* records,
                     std::int64_t at) {
  for (int r = 0; r < kRows; ++r) {
    for (int p = 0; p < kPlanes; ++p) {
      const __m512i x = broadcast32(records[r] + at + p * kBlockK + kStep * 4);
      if constexpr (kStep == 0) {
        sums[r][p] = Dot::first(records[r] + at, p, weights, x);
      } else {
        sums[r][p] = Dot::add(sums[r][p], weights, x);
      }
      pin(sums[r][p]);
    }
  }
}

/// One 64-byte line of codes: two k-steps.
template <typename Dot, int kLine, int kPlanes, int kRows>
inline void decode_line(__m512i (&sums)[kRows][kPlanes], const std::uint8_t* codes, __m512i table, __m512i nibble,
                        const std::uint8_t* const* records, std::int64_t at) {
  const __m512i packed = _mm512_load_si512(codes + kLine * 64);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi16(packed, 4), nibble);
  dot_step<Dot, 2 * kLine, kPlanes, kRows>(sums, _mm512_shuffle_epi8(table, _mm512_and_si512(packed, nibble)), records,
                                           at);
  dot_step<Dot, 2 * kLine + 1, kPlanes, kRows>(sums, _mm512_shuffle_epi8(table, odd), records, at);
}

template <bool kVnni, int kPlanes, int kRows>
void stream_rows(const std::uint8_t* strip, int groups, const std::uint8_t* const* rows, float* c) {
  using Dot = IntegerDot<kVnni, kPlanes>;
  const __m512i table = weight_table();
  const __m512i nibble = _mm512_set1_epi8(0x0F);
  __m512 total[kRows];
  // Fixed pointers and one offset: GCC would keep advancing pointers in a vector on the stack.
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
      __m512i sums[kRows][kPlanes];
      decode_line<Dot, 0, kPlanes, kRows>(sums, codes, table, nibble, records, at);
      decode_line<Dot, 1, kPlanes, kRows>(sums, codes, table, nibble, records, at);
      const __m512 scales = block_scales(strip + scale_offset(0, b));
      for (int r = 0; r < kRows; ++r) {
        total[r] = Dot::close(sums[r], records[r] + at, scales, total[r]);
      }
      at += Dot::kRecordBytes;
    }
  }
  for (int r = 0; r < kRows; ++r) {
    _mm512_storeu_ps(c + r * kStripRows, _mm512_mul_ps(total[r], _mm512_set1_ps(kScaleUnbias)));
  }
}

/// A panel block: 4 steps x 16 rows x 4 k of weight operands, then 16 fp32 scales.
constexpr int kPanelStepBytes = kStripRows * 4;
constexpr int kPanelBlockBytes = 4 * kPanelStepBytes + kStripRows * 4;

void expand_integer_panel(const std::uint8_t* strip, int groups, std::uint8_t* panel) {
  const __m512i table = weight_table();
  const __m512i nibble = _mm512_set1_epi8(0x0F);
  for (int g = 0; g < groups; ++g, strip += kGroupBytes) {
    for (int b = 0; b < kGroupBlocks; ++b, panel += kPanelBlockBytes) {
      const std::uint8_t* codes = strip + kGroupScaleBytes + b * kBlockCodeBytes;
      for (int line = 0; line < 2; ++line) {
        const __m512i packed = _mm512_load_si512(codes + line * 64);
        const __m512i odd = _mm512_and_si512(_mm512_srli_epi16(packed, 4), nibble);
        std::uint8_t* out = panel + 2 * line * kPanelStepBytes;
        _mm512_store_si512(out, _mm512_shuffle_epi8(table, _mm512_and_si512(packed, nibble)));
        _mm512_store_si512(out + kPanelStepBytes, _mm512_shuffle_epi8(table, odd));
      }
      _mm512_store_ps(panel + 4 * kPanelStepBytes,
                      _mm512_mul_ps(block_scales(strip + scale_offset(0, b)), _mm512_set1_ps(kScaleUnbias)));
    }
  }
}

template <bool kVnni, int kPlanes, int kRows>
void panel_rows(const std::uint8_t* panel, int groups, const std::uint8_t* const* rows, float* c) {
  using Dot = IntegerDot<kVnni, kPlanes>;
  __m512 total[kRows];
  // Fixed pointers and one offset: GCC would keep advancing pointers in a vector on the stack.
  const std::uint8_t* records[kRows];
  std::int64_t at = 0;
  for (int r = 0; r < kRows; ++r) {
    total[r] = _mm512_loadu_ps(c + r * kStripRows);
    records[r] = rows[r];
  }
  for (int b = 0; b < groups * kGroupBlocks; ++b, panel += kPanelBlockBytes) {
    __m512i sums[kRows][kPlanes];
    dot_step<Dot, 0, kPlanes, kRows>(sums, _mm512_load_si512(panel), records, at);
    dot_step<Dot, 1, kPlanes, kRows>(sums, _mm512_load_si512(panel + kPanelStepBytes), records, at);
    dot_step<Dot, 2, kPlanes, kRows>(sums, _mm512_load_si512(panel + 2 * kPanelStepBytes), records, at);
    dot_step<Dot, 3, kPlanes, kRows>(sums, _mm512_load_si512(panel + 3 * kPanelStepBytes), records, at);
    const __m512 scales = _mm512_load_ps(panel + 4 * kPanelStepBytes);
    for (int r = 0; r < kRows; ++r) {
      total[r] = Dot::close(sums[r], records[r] + at, scales, total[r]);
    }
    at += Dot::kRecordBytes;
  }
  for (int r = 0; r < kRows; ++r) _mm512_storeu_ps(c + r * kStripRows, total[r]);
}

// 32 registers: a plane's accumulator and a total a row, a weight operand and a temporary or two.
constexpr int kPanelRows = 8;

template <bool kVnni, int kPlanes>
void stream_integer(const std::uint8_t* strip, int groups, const std::uint8_t* const* rows, int count, float* c) {
  switch (count) {
    case 1: return stream_rows<kVnni, kPlanes, 1>(strip, groups, rows, c);
    case 2: return stream_rows<kVnni, kPlanes, 2>(strip, groups, rows, c);
    case 3: return stream_rows<kVnni, kPlanes, 3>(strip, groups, rows, c);
    default: return stream_rows<kVnni, kPlanes, 4>(strip, groups, rows, c);
  }
}

template <bool kVnni, int kPlanes>
void panel_integer(const std::uint8_t* panel, int groups, const std::uint8_t* const* rows, int count, float* c) {
  constexpr int kWide = kPanelRows;
  int r = 0;
  for (; r + kWide <= count; r += kWide) panel_rows<kVnni, kPlanes, kWide>(panel, groups, rows + r, c + r * kStripRows);
  for (; r + 2 <= count; r += 2) panel_rows<kVnni, kPlanes, 2>(panel, groups, rows + r, c + r * kStripRows);
  if (r < count) panel_rows<kVnni, kPlanes, 1>(panel, groups, rows + r, c + r * kStripRows);
}

/// In assembly, so that it is these instructions and no other: 16 chains cover vpdpbusd's latency of 4 or 5 clocks at
/// up to two a clock. What the registers hold does not matter.
template <bool kVnni>
double integer_peak(std::int64_t iterations) {
  for (std::int64_t i = 0; i < iterations; ++i) {
    if constexpr (kVnni) {
      asm volatile(
          "vpdpbusd %%zmm0, %%zmm1, %%zmm8\n\t"
          "vpdpbusd %%zmm0, %%zmm1, %%zmm9\n\t"
          "vpdpbusd %%zmm0, %%zmm1, %%zmm10\n\t"
          "vpdpbusd %%zmm0, %%zmm1, %%zmm11\n\t"
          "vpdpbusd %%zmm0, %%zmm1, %%zmm12\n\t"
          "vpdpbusd %%zmm0, %%zmm1, %%zmm13\n\t"
          "vpdpbusd %%zmm0, %%zmm1, %%zmm14\n\t"
          "vpdpbusd %%zmm0, %%zmm1, %%zmm15\n\t"
          "vpdpbusd %%zmm0, %%zmm1, %%zmm16\n\t"
          "vpdpbusd %%zmm0, %%zmm1, %%zmm17\n\t"
          "vpdpbusd %%zmm0, %%zmm1, %%zmm18\n\t"
          "vpdpbusd %%zmm0, %%zmm1, %%zmm19\n\t"
          "vpdpbusd %%zmm0, %%zmm1, %%zmm20\n\t"
          "vpdpbusd %%zmm0, %%zmm1, %%zmm21\n\t"
          "vpdpbusd %%zmm0, %%zmm1, %%zmm22\n\t"
          "vpdpbusd %%zmm0, %%zmm1, %%zmm23\n\t" ::
              : "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
                "xmm14", "xmm15", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23");
    } else {
      asm volatile(
          "vpmaddubsw %%zmm0, %%zmm1, %%zmm2\n\tvpaddw %%zmm2, %%zmm8, %%zmm8\n\t"
          "vpmaddubsw %%zmm0, %%zmm1, %%zmm3\n\tvpaddw %%zmm3, %%zmm9, %%zmm9\n\t"
          "vpmaddubsw %%zmm0, %%zmm1, %%zmm4\n\tvpaddw %%zmm4, %%zmm10, %%zmm10\n\t"
          "vpmaddubsw %%zmm0, %%zmm1, %%zmm5\n\tvpaddw %%zmm5, %%zmm11, %%zmm11\n\t"
          "vpmaddubsw %%zmm0, %%zmm1, %%zmm6\n\tvpaddw %%zmm6, %%zmm12, %%zmm12\n\t"
          "vpmaddubsw %%zmm0, %%zmm1, %%zmm7\n\tvpaddw %%zmm7, %%zmm13, %%zmm13\n\t"
          "vpmaddubsw %%zmm0, %%zmm1, %%zmm2\n\tvpaddw %%zmm2, %%zmm14, %%zmm14\n\t"
          "vpmaddubsw %%zmm0, %%zmm1, %%zmm3\n\tvpaddw %%zmm3, %%zmm15, %%zmm15\n\t"
          "vpmaddubsw %%zmm0, %%zmm1, %%zmm4\n\tvpaddw %%zmm4, %%zmm16, %%zmm16\n\t"
          "vpmaddubsw %%zmm0, %%zmm1, %%zmm5\n\tvpaddw %%zmm5, %%zmm17, %%zmm17\n\t"
          "vpmaddubsw %%zmm0, %%zmm1, %%zmm6\n\tvpaddw %%zmm6, %%zmm18, %%zmm18\n\t"
          "vpmaddubsw %%zmm0, %%zmm1, %%zmm7\n\tvpaddw %%zmm7, %%zmm19, %%zmm19\n\t"
          "vpmaddubsw %%zmm0, %%zmm1, %%zmm2\n\tvpaddw %%zmm2, %%zmm20, %%zmm20\n\t"
          "vpmaddubsw %%zmm0, %%zmm1, %%zmm3\n\tvpaddw %%zmm3, %%zmm21, %%zmm21\n\t"
          "vpmaddubsw %%zmm0, %%zmm1, %%zmm4\n\tvpaddw %%zmm4, %%zmm22, %%zmm22\n\t"
          "vpmaddubsw %%zmm0, %%zmm1, %%zmm5\n\tvpaddw %%zmm5, %%zmm23, %%zmm23\n\t" ::
              : "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
                "xmm14", "xmm15", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23");
    }
  }
  return static_cast<double>(iterations) * 16 * 64;
}

template <bool kVnni, int kPlanes>
constexpr KernelSet integer_kernels() {
  return {IntegerDot<kVnni, kPlanes>::kFormat,
          IntegerDot<kVnni, kPlanes>::kFormat,
          kVnni ? "vpdpbusd (zmm)" : "vpmaddubsw + vpaddw (zmm)",
          kPlanes,
          4,
          4,
          kPanelRows,
          stream_integer<kVnni, kPlanes>,
          expand_integer_panel,
          panel_integer<kVnni, kPlanes>,
          integer_peak<kVnni>};
}

}  // namespace
}  // namespace tilewright::cpu
