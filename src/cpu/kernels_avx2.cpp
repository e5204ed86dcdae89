// AVX2 kernels: vpmaddubsw (32 multiply-adds of u8 x s8 into 16 int16) and vpaddw, with vpmaddwd closing a block.
//
// A ymm holds 8 weight rows x 4 k. Over a block's four k-steps each int16 lane sums 8 products of at most 24 * 128: at
// most 24,576, which fits. vpmaddwd then adds the two lanes of a row and applies the block's multiplier (less than
// 2 * 24,576 * 257 * 64 = 8.1e8 with two planes, which fits int32); a conversion, the correction and one FMA with the
// row's block scale follow. The correction is an fp32 addition because AMD's Zen 2 and 3 have ports for it that the
// multiplications and 16-bit additions do not want; what the conversion rounds off is 2^-24 of a sum of at most eight
// times the terms' size.
#include <immintrin.h>

#include "cpu/kernels.hpp"
#include "cpu/row_kernels.inl.hpp"

namespace tilewright::cpu {
namespace {

/// How far ahead of its use a weight line is asked for; two groups cover the latency that out-of-order execution does
/// not (docs/kernels/cpu.md). Prefetching past the end of the weights is harmless.
constexpr int kPrefetchBytes = 2 * kGroupBytes;

inline void prefetch(const std::uint8_t* p) { _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0); }

inline __m256i broadcast32(const std::uint8_t* p) {
  std::int32_t word = 0;
  __builtin_memcpy(&word, p, sizeof(word));
  return _mm256_set1_epi32(word);
}

template <int kPlanes>
constexpr int kRecordBytes = record_bytes(kPlanes == 1 ? RowFormat::codes_pair16 : RowFormat::wide_pair16);

inline __m256 block_scales(const std::uint8_t* scales) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(scales));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu8_epi32(bytes), kScaleShift));
}

inline __m256i weight_table() {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(kWeightTable)));
}

inline __m256 broadcast_float(const std::uint8_t* p) { return _mm256_castsi256_ps(broadcast32(p)); }

/// Joins the planes of one row's sums, applies multiplier and correction and returns fp32.
template <int kPlanes>
inline __m256 close_block(const __m256i* sums, const std::uint8_t* record) {
  __m256i total = _mm256_madd_epi16(sums[0], broadcast32(record + multiplier_offset(kPlanes, 0)));
  if constexpr (kPlanes == 2) {
    total = _mm256_add_epi32(total, _mm256_madd_epi16(sums[1], broadcast32(record + multiplier_offset(kPlanes, 1))));
  }
  return _mm256_add_ps(_mm256_cvtepi32_ps(total), broadcast_float(record + correction_offset(kPlanes, 0)));
}

/// Keeps an accumulator where it is: GCC 12 otherwise rewrites the sums as trees, whose temporaries spill.
inline void pin(__m256i& sum) { asm("" : "+x"(sum)); }

/// One k-step of a block; the first one sets the sums.
template <bool kFirst, int kPlanes, int kRows>
inline void dot_step(__m256i (&sums)[kRows][2][kPlanes], __m256i low_rows, __m256i high_rows,
                     const std::uint8_t* const* records, int step) {
  for (int r = 0; r < kRows; ++r) {
    for (int p = 0; p < kPlanes; ++p) {
      const __m256i x = broadcast32(records[r] + p * kBlockK + step * 4);
      const __m256i low = _mm256_maddubs_epi16(low_rows, x);
      const __m256i high = _mm256_maddubs_epi16(high_rows, x);
      sums[r][0][p] = kFirst ? low : _mm256_add_epi16(sums[r][0][p], low);
      sums[r][1][p] = kFirst ? high : _mm256_add_epi16(sums[r][1][p], high);
      pin(sums[r][0][p]);
      pin(sums[r][1][p]);
    }
  }
}

/// One 64-byte line of codes: two k-steps.
template <int kLine, int kPlanes, int kRows>
inline void decode_line(__m256i (&sums)[kRows][2][kPlanes], const std::uint8_t* codes, __m256i table, __m256i nibble,
                        const std::uint8_t* const* records) {
  const __m256i low = _mm256_load_si256(reinterpret_cast<const __m256i*>(codes + kLine * 64));
  const __m256i high = _mm256_load_si256(reinterpret_cast<const __m256i*>(codes + kLine * 64 + 32));
  dot_step<kLine == 0, kPlanes, kRows>(sums, _mm256_shuffle_epi8(table, _mm256_and_si256(low, nibble)),
                                       _mm256_shuffle_epi8(table, _mm256_and_si256(high, nibble)), records, 2 * kLine);
  dot_step<false, kPlanes, kRows>(sums, _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(low, 4), nibble)),
                                  _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(high, 4), nibble)),
                                  records, 2 * kLine + 1);
}

template <int kPlanes, int kRows>
void stream_rows(const std::uint8_t* strip, int groups, const std::uint8_t* const* rows, float* c) {
  const __m256i table = weight_table();
  const __m256i nibble = _mm256_set1_epi8(0x0F);
  __m256 total[kRows][2];
  const std::uint8_t* records[kRows];
  for (int r = 0; r < kRows; ++r) {
    total[r][0] = total[r][1] = _mm256_setzero_ps();
    records[r] = rows[r];
  }
  for (int g = 0; g < groups; ++g, strip += kGroupBytes) {
    prefetch(strip + kPrefetchBytes);
    for (int b = 0; b < kGroupBlocks; ++b) {
      const std::uint8_t* codes = strip + kGroupScaleBytes + b * kBlockCodeBytes;
      prefetch(codes + kPrefetchBytes);
      prefetch(codes + kPrefetchBytes + 64);
      __m256i sums[kRows][2][kPlanes];
      decode_line<0, kPlanes, kRows>(sums, codes, table, nibble, records);
      decode_line<1, kPlanes, kRows>(sums, codes, table, nibble, records);
      const __m256 low_scales = block_scales(strip + scale_offset(0, b));
      const __m256 high_scales = block_scales(strip + scale_offset(kHalfStrip, b));
      for (int r = 0; r < kRows; ++r) {
        total[r][0] = _mm256_fmadd_ps(close_block<kPlanes>(sums[r][0], records[r]), low_scales, total[r][0]);
        total[r][1] = _mm256_fmadd_ps(close_block<kPlanes>(sums[r][1], records[r]), high_scales, total[r][1]);
        records[r] += kRecordBytes<kPlanes>;
      }
    }
  }
  const __m256 unbias = _mm256_set1_ps(kScaleUnbias);
  for (int r = 0; r < kRows; ++r) {
    _mm256_storeu_ps(c + r * kStripRows, _mm256_mul_ps(total[r][0], unbias));
    _mm256_storeu_ps(c + r * kStripRows + kHalfStrip, _mm256_mul_ps(total[r][1], unbias));
  }
}

/// A panel block: 4 steps x 16 rows x 4 k of weight operands, then 16 fp32 scales.
constexpr int kPanelStepBytes = kStripRows * 4;
constexpr int kPanelBlockBytes = 4 * kPanelStepBytes + kStripRows * 4;

void expand_panel(const std::uint8_t* strip, int groups, std::uint8_t* panel) {
  const __m256i table = weight_table();
  const __m256i nibble = _mm256_set1_epi8(0x0F);
  const __m256 unbias = _mm256_set1_ps(kScaleUnbias);
  for (int g = 0; g < groups; ++g, strip += kGroupBytes) {
    for (int b = 0; b < kGroupBlocks; ++b, panel += kPanelBlockBytes) {
      const std::uint8_t* codes = strip + kGroupScaleBytes + b * kBlockCodeBytes;
      for (int part = 0; part < 4; ++part) {
        const __m256i packed = _mm256_load_si256(reinterpret_cast<const __m256i*>(codes + part * 32));
        std::uint8_t* out = panel + (part / 2) * 2 * kPanelStepBytes + (part % 2) * 32;
        const __m256i even = _mm256_shuffle_epi8(table, _mm256_and_si256(packed, nibble));
        const __m256i odd = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(packed, 4), nibble));
        _mm256_store_si256(reinterpret_cast<__m256i*>(out), even);
        _mm256_store_si256(reinterpret_cast<__m256i*>(out + kPanelStepBytes), odd);
      }
      auto* scales = reinterpret_cast<float*>(panel + 4 * kPanelStepBytes);
      _mm256_store_ps(scales, _mm256_mul_ps(block_scales(strip + scale_offset(0, b)), unbias));
      _mm256_store_ps(scales + kHalfStrip, _mm256_mul_ps(block_scales(strip + scale_offset(kHalfStrip, b)), unbias));
    }
  }
}

template <int kPlanes, int kRows>
void panel_rows(const std::uint8_t* panel, int groups, const std::uint8_t* const* rows, float* c) {
  __m256 total[kRows][2];
  const std::uint8_t* records[kRows];
  for (int r = 0; r < kRows; ++r) {
    total[r][0] = _mm256_loadu_ps(c + r * kStripRows);
    total[r][1] = _mm256_loadu_ps(c + r * kStripRows + kHalfStrip);
    records[r] = rows[r];
  }
#pragma GCC unroll 2
  for (int b = 0; b < groups * kGroupBlocks; ++b, panel += kPanelBlockBytes) {
    __m256i sums[kRows][2][kPlanes];
    const auto* weights = reinterpret_cast<const __m256i*>(panel);
    dot_step<true, kPlanes, kRows>(sums, _mm256_load_si256(weights), _mm256_load_si256(weights + 1), records, 0);
    for (int step = 1; step < 4; ++step) {
      dot_step<false, kPlanes, kRows>(sums, _mm256_load_si256(weights + 2 * step),
                                      _mm256_load_si256(weights + 2 * step + 1), records, step);
    }
    const auto* scales = reinterpret_cast<const float*>(panel + 4 * kPanelStepBytes);
    for (int r = 0; r < kRows; ++r) {
      total[r][0] = _mm256_fmadd_ps(close_block<kPlanes>(sums[r][0], records[r]), _mm256_load_ps(scales), total[r][0]);
      total[r][1] = _mm256_fmadd_ps(close_block<kPlanes>(sums[r][1], records[r]), _mm256_load_ps(scales + kHalfStrip),
                                    total[r][1]);
      records[r] += kRecordBytes<kPlanes>;
    }
  }
  for (int r = 0; r < kRows; ++r) {
    _mm256_storeu_ps(c + r * kStripRows, total[r][0]);
    _mm256_storeu_ps(c + r * kStripRows + kHalfStrip, total[r][1]);
  }
}

// Register budget of 16: 2 int16 accumulators a plane and 2 fp32 a row, two weight operands, one activation, one
// product. Two planes leave room for 2 rows of a panel, one plane for 3; decoding takes the table and the mask besides.
void stream_one_plane(const std::uint8_t* strip, int groups, const std::uint8_t* const* rows, int count, float* c) {
  return count == 1 ? stream_rows<1, 1>(strip, groups, rows, c) : stream_rows<1, 2>(strip, groups, rows, c);
}

void stream_two_planes(const std::uint8_t* strip, int groups, const std::uint8_t* const* rows, int count, float* c) {
  return count == 1 ? stream_rows<2, 1>(strip, groups, rows, c) : stream_rows<2, 2>(strip, groups, rows, c);
}

void panel_one_plane(const std::uint8_t* panel, int groups, const std::uint8_t* const* rows, int count, float* c) {
  int r = 0;
  // Four rows are two and two: a single row waits for its own sums.
  for (; count - r == 3 || count - r > 4; r += 3) panel_rows<1, 3>(panel, groups, rows + r, c + r * kStripRows);
  for (; count - r >= 2; r += 2) panel_rows<1, 2>(panel, groups, rows + r, c + r * kStripRows);
  if (count - r == 1) panel_rows<1, 1>(panel, groups, rows + r, c + r * kStripRows);
}

void panel_two_planes(const std::uint8_t* panel, int groups, const std::uint8_t* const* rows, int count, float* c) {
  int r = 0;
  for (; r + 2 <= count; r += 2) panel_rows<2, 2>(panel, groups, rows + r, c + r * kStripRows);
  if (count - r == 1) panel_rows<2, 1>(panel, groups, rows + r, c + r * kStripRows);
}

double dot_peak(std::int64_t iterations) {
  // Written in assembly so that it is these instructions and no other: eight chains, far more than vpaddw's latency of
  // one clock needs, and products that depend on nothing. What the registers hold does not matter.
  for (std::int64_t i = 0; i < iterations; ++i) {
    asm volatile(
        "vpmaddubsw %%ymm0, %%ymm1, %%ymm2\n\tvpaddw %%ymm2, %%ymm8, %%ymm8\n\t"
        "vpmaddubsw %%ymm0, %%ymm1, %%ymm3\n\tvpaddw %%ymm3, %%ymm9, %%ymm9\n\t"
        "vpmaddubsw %%ymm0, %%ymm1, %%ymm4\n\tvpaddw %%ymm4, %%ymm10, %%ymm10\n\t"
        "vpmaddubsw %%ymm0, %%ymm1, %%ymm5\n\tvpaddw %%ymm5, %%ymm11, %%ymm11\n\t"
        "vpmaddubsw %%ymm0, %%ymm1, %%ymm6\n\tvpaddw %%ymm6, %%ymm12, %%ymm12\n\t"
        "vpmaddubsw %%ymm0, %%ymm1, %%ymm7\n\tvpaddw %%ymm7, %%ymm13, %%ymm13\n\t"
        "vpmaddubsw %%ymm0, %%ymm1, %%ymm2\n\tvpaddw %%ymm2, %%ymm14, %%ymm14\n\t"
        "vpmaddubsw %%ymm0, %%ymm1, %%ymm3\n\tvpaddw %%ymm3, %%ymm15, %%ymm15\n\t" ::
            : "ymm2", "ymm3", "ymm4", "ymm5", "ymm6", "ymm7", "ymm8", "ymm9", "ymm10", "ymm11", "ymm12", "ymm13",
              "ymm14", "ymm15");
  }
  return static_cast<double>(iterations) * 8 * 32;
}

constexpr const char* kInstruction = "vpmaddubsw + vpaddw (ymm)";

}  // namespace

const KernelTable kAvx2Kernels = {
    IsaTier::avx2,
    {RowFormat::wide_pair16, RowFormat::wide_pair16, kInstruction, 2, 2, 2, 2, stream_two_planes, expand_panel,
     panel_two_planes, dot_peak},
    {RowFormat::codes_pair16, RowFormat::codes_pair16, kInstruction, 1, 2, 2, 3, stream_one_plane, expand_panel,
     panel_one_plane, dot_peak},
    kRowKernels,
};

}  // namespace tilewright::cpu
