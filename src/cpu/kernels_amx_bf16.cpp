// AMX: tdpbf16ps (16 rows x 16 weight rows x 32 k of bf16 into fp32) for prefill; VNNI for few rows.
//
// Roles: the vector ports expand the weights of one group of 64 k while the tile unit multiplies the group before.
// Tiles: 0-3 sums of (row block, strip), 4-5 activations of two row blocks, 6-7 weights of two strips.
//
// Weights: e2m1 * ue4m3 has 6 significant bits, so one fp16 multiplication is exact. An fp16 with exponent and mantissa
// moved down by 3 bits is a bf16 of 2^-112 the value: fp16's exponent bias is 15, bf16's 127. Codes come times 2^8 and
// scales times 2^-8, so that no product is subnormal. Rows come times a power of two that makes up for the 2^-112, so
// that the tile unit flushes nothing to zero (dot_rows.hpp).
//
// Tile instructions are written in assembly: GCC 12's intrinsics do not tell the compiler what memory they touch.
#include <algorithm>
#include <array>

#include "cpu/kernels_avx512.inl.hpp"

namespace tilewright::cpu {
namespace {

constexpr int kTileRows = 16;
constexpr int kTileBytes = kTileRows * 64;
constexpr int kTileK = 32;
constexpr int kStepsAGroup = kGroupK / kTileK;
constexpr int kPairBytes = kStepsAGroup * 2 * kTileBytes;  // a group of two strips: [step][strip] tiles
constexpr int kNearBytes =
    2 * kGroupBytes;                   // two strips at the pace of the tile unit leave memory the time that it needs
constexpr int kBlocksAPass = 2;        // row blocks that the sums have tiles for
constexpr int kAllSlots = 0x7FFFFFFF;  // a panel that keeps every group
static_assert(kPairBytes == kTilePanelBytes);

/// fp16 of the 16 e2m1 codes times 2^8, twice: vpermw looks up 5 bits.
alignas(64) constexpr std::uint16_t kCodeTable[32] = {0x0000, 0x5800, 0x5C00, 0x5E00, 0x6000, 0x6200, 0x6400, 0x6600,
                                                      0x8000, 0xD800, 0xDC00, 0xDE00, 0xE000, 0xE200, 0xE400, 0xE600,
                                                      0x0000, 0x5800, 0x5C00, 0x5E00, 0x6000, 0x6200, 0x6400, 0x6600,
                                                      0x8000, 0xD800, 0xDC00, 0xDE00, 0xE000, 0xE200, 0xE400, 0xE600};

using ScaleIndex = std::array<std::array<std::uint8_t, 64>, kGroupBlocks>;

/// For each block, which scale byte of a group belongs to the row of each 4-byte lane.
constexpr ScaleIndex scale_index() {
  ScaleIndex index{};
  for (int block = 0; block < kGroupBlocks; ++block) {
    for (int byte = 0; byte < 64; ++byte) index[block][byte] = static_cast<std::uint8_t>(scale_offset(byte / 4, block));
  }
  return index;
}

alignas(64) constexpr ScaleIndex kScaleIndex = scale_index();
constexpr __mmask64 kUpperBytes = 0xAAAAAAAAAAAAAAAAULL;

/// The operand of ldtilecfg.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};

/// Tiles for row blocks of `first` and `second` rows (0: none).
void configure(int first, int second) {
  TileConfig config;
  const int rows[8] = {first, first, second, second, first, second, kTileRows, kTileRows};
  for (int tile = 0; tile < 8; ++tile) {
    config.rows[tile] = static_cast<std::uint8_t>(rows[tile]);
    config.row_bytes[tile] = rows[tile] == 0 ? 0 : 64;
  }
  asm volatile("ldtilecfg %0" ::"m"(config));
}

template <int kTile>
inline void clear_tile() {
  asm volatile("tilezero %%tmm%c0" ::"i"(kTile));
}

template <int kTile>
inline void load_tile(const std::uint8_t* from) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(std::int64_t{64}), "i"(kTile) : "memory");
}

template <int kTile>
inline void store_tile(float* to) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(std::int64_t{64}), "i"(kTile) : "memory");
}

template <int kSum, int kRows, int kWeights>
inline void multiply_tiles() {
  asm volatile("tdpbf16ps %%tmm%c0, %%tmm%c1, %%tmm%c2" ::"i"(kWeights), "i"(kRows), "i"(kSum));
}

/// Four bf16 pairs of 16 weight rows: (0, 2), (1, 3), (4, 6), (5, 7), the order of a bf16 record.
inline void expand_line(const std::uint8_t* codes, __m512h scales, std::uint8_t* out) {
  const __m512i table = _mm512_load_si512(kCodeTable);
  const __m512i fields = _mm512_set1_epi16(static_cast<short>(0x8FFF));  // sign, five bits of exponent, mantissa
  const __m512i packed = _mm512_load_si512(codes);
  const __m512i lanes[4] = {packed, _mm512_srli_epi16(packed, 8), _mm512_srli_epi16(packed, 4),
                            _mm512_srli_epi16(packed, 12)};
  for (int i = 0; i < 4; ++i) {
    const __m512h code = _mm512_castsi512_ph(_mm512_permutexvar_epi16(lanes[i], table));
    const __m512i weight = _mm512_castph_si512(_mm512_mul_ph(code, scales));
    _mm512_store_si512(out + i * 64, _mm512_and_si512(_mm512_srai_epi16(weight, 3), fields));
  }
}

/// One weight tile: 32 k of a strip.
template <int kStep>
inline void expand_tile(const std::uint8_t* group, std::uint8_t* out) {
  const __m512i bytes = _mm512_load_si512(group);
  for (int b = 0; b < kTileK / kBlockK; ++b) {
    const int block = kStep * (kTileK / kBlockK) + b;
    // A ue4m3 byte in the upper byte of both halves of its row's lane, and one bit down: an fp16 of 2^-8 the value.
    const __m512i upper =
        _mm512_maskz_permutexvar_epi8(kUpperBytes, _mm512_load_si512(kScaleIndex[block].data()), bytes);
    const __m512h scales = _mm512_castsi512_ph(_mm512_srli_epi16(upper, 1));
    const std::uint8_t* codes = group + kGroupScaleBytes + block * kBlockCodeBytes;
    expand_line(codes, scales, out + b * kTileBytes / 2);
    expand_line(codes + 64, scales, out + b * kTileBytes / 2 + 256);
  }
}

/// Two strips on their way: the groups to expand next, and the lines to ask memory for.
struct StripPair {
  const std::uint8_t* first;
  const std::uint8_t* second;

  void expand(std::uint8_t* out) const {
    expand_tile<0>(first, out);
    expand_tile<0>(second, out + kTileBytes);
    expand_tile<1>(first, out + 2 * kTileBytes);
    expand_tile<1>(second, out + 3 * kTileBytes);
  }

  /// `skip`: what the first strip's stream jumps over at its end; the second strip comes next, and is here already.
  void prefetch_ahead(std::int64_t skip) const {
    for (int line = 0; line < kGroupBytes; line += 64) {
      _mm_prefetch(reinterpret_cast<const char*>(first + kNearBytes + skip + line), _MM_HINT_T0);
      _mm_prefetch(reinterpret_cast<const char*>(second + kNearBytes + line), _MM_HINT_T0);
    }
  }

  void advance() {
    first += kGroupBytes;
    second += kGroupBytes;
  }
};

/// One step of 32 k: the products of one or two row blocks with two strips. Between them, where `expand` is not null,
/// the same step of the group to come: what one unit does hides behind the other.
template <int kBlocks, int kStep>
inline void multiply_step(const std::uint8_t* weights, const std::uint8_t* first_rows, const std::uint8_t* second_rows,
                          const StripPair* expand, std::uint8_t* out) {
  load_tile<6>(weights + 2 * kStep * kTileBytes);
  load_tile<4>(first_rows + kStep * kTileBytes);
  multiply_tiles<0, 4, 6>();
  if (expand != nullptr) expand_tile<kStep>(expand->first, out + 2 * kStep * kTileBytes);
  load_tile<7>(weights + (2 * kStep + 1) * kTileBytes);
  multiply_tiles<1, 4, 7>();
  if constexpr (kBlocks == 2) {
    load_tile<5>(second_rows + kStep * kTileBytes);
    multiply_tiles<2, 5, 6>();
    multiply_tiles<3, 5, 7>();
  }
  if (expand != nullptr) expand_tile<kStep>(expand->second, out + (2 * kStep + 1) * kTileBytes);
}

/// One or two row blocks times two strips over all of K. kExpand: the weights are still packed; group g of the panel
/// lies at slot g & last_slot, and is written one group ahead of its use.
template <int kBlocks, bool kExpand>
void multiply_blocks(StripPair strips, int groups, const std::uint8_t* rows, std::uint8_t* panel, int last_slot) {
  const std::int64_t block_bytes = std::int64_t{groups} * kStepsAGroup * kTileBytes;
  const std::int64_t strip = std::int64_t{groups} * kGroupBytes;
  clear_tile<0>();
  clear_tile<1>();
  if constexpr (kBlocks == 2) {
    clear_tile<2>();
    clear_tile<3>();
  }
  if constexpr (kExpand) strips.expand(panel);
  const auto group = [&](int g, const StripPair* next) {
    const std::uint8_t* weights = panel + (g & last_slot) * kPairBytes;
    std::uint8_t* out = panel + ((g + 1) & last_slot) * kPairBytes;
    const std::uint8_t* first = rows + g * kStepsAGroup * kTileBytes;
    multiply_step<kBlocks, 0>(weights, first, first + block_bytes, next, out);
    multiply_step<kBlocks, 1>(weights, first, first + block_bytes, next, out);
  };
  for (int g = 0; g + 1 < groups; ++g) {
    if constexpr (kExpand) {
      strips.advance();
      strips.prefetch_ahead(g + 1 + kNearBytes / kGroupBytes < groups ? 0 : 2 * strip);
      group(g, &strips);
    } else {
      group(g, nullptr);
    }
  }
  group(groups - 1, nullptr);
}

void store_sums(int blocks, float* first, float* second) {
  store_tile<0>(first);
  store_tile<1>(second);
  if (blocks < 2) return;
  store_tile<2>(first + kTileRows * kStripRows);
  store_tile<3>(second + kTileRows * kStripRows);
}

void tile_dot(const std::uint8_t* strips, int strip_count, int groups, const std::uint8_t* tiles, int count,
              std::uint8_t* panel, float* c) {
  const std::int64_t block_bytes = std::int64_t{groups} * kStepsAGroup * kTileBytes;
  const std::int64_t strip_size = std::int64_t{groups} * kGroupBytes;
  const std::int64_t c_size = std::int64_t{count} * kStripRows;
  // More rows than one pass takes read the whole panel again; else two groups are enough.
  const int last_slot = count <= kBlocksAPass * kTileRows ? 1 : kAllSlots;
  int configured = 0;  // rows of the pass; loading a configuration costs as much as some tiles
  for (int s = 0; s < strip_count; s += 2, strips += 2 * strip_size, c += 2 * c_size) {
    const StripPair pair{strips, s + 1 < strip_count ? strips + strip_size : strips};
    const std::uint8_t* rows = tiles;
    for (int r = 0; r < count; r += kBlocksAPass * kTileRows, rows += kBlocksAPass * block_bytes) {
      const int pass = std::min(kBlocksAPass * kTileRows, count - r);
      if (pass != configured) configure(std::min(kTileRows, pass), std::max(0, pass - kTileRows));
      configured = pass;
      if (pass > kTileRows) {
        r == 0 ? multiply_blocks<2, true>(pair, groups, rows, panel, last_slot)
               : multiply_blocks<2, false>(pair, groups, rows, panel, last_slot);
      } else {
        r == 0 ? multiply_blocks<1, true>(pair, groups, rows, panel, last_slot)
               : multiply_blocks<1, false>(pair, groups, rows, panel, last_slot);
      }
      store_sums(pass > kTileRows ? 2 : 1, c + r * kStripRows, c + c_size + r * kStripRows);
    }
  }
  asm volatile("tilerelease");
}

void gather_tiles(const std::uint8_t* const* rows, int count, int groups, std::uint8_t* tiles) {
  const std::int64_t block_bytes = std::int64_t{groups} * kStepsAGroup * kTileBytes;
  for (int r = 0; r < count; ++r) {
    std::uint8_t* out = tiles + r / kTileRows * block_bytes + r % kTileRows * 64;
    for (int step = 0; step < groups * kStepsAGroup; ++step)
      _mm512_store_si512(out + step * kTileBytes, _mm512_loadu_si512(rows[r] + step * 64));
  }
}

double tile_peak(std::int64_t iterations) {
  configure(kTileRows, kTileRows);
  clear_tile<0>();
  clear_tile<1>();
  clear_tile<2>();
  clear_tile<3>();
  clear_tile<4>();
  clear_tile<5>();
  clear_tile<6>();
  clear_tile<7>();
  for (std::int64_t i = 0; i < iterations; ++i) {
    multiply_tiles<0, 4, 6>();
    multiply_tiles<1, 4, 7>();
    multiply_tiles<2, 5, 6>();
    multiply_tiles<3, 5, 7>();
  }
  asm volatile("tilerelease");
  return static_cast<double>(iterations) * 4 * kTileRows * kTileRows * kTileK;
}

/// VNNI's kernels for few rows, tiles for more.
template <int kPlanes>
constexpr KernelSet with_tiles() {
  KernelSet set = integer_kernels<true, kPlanes>();
  set.panel_format = RowFormat::bf16_tile;
  set.panel_rows = kBlocksAPass * kTileRows;
  set.stream_limit = kPlanes == 1 ? 4 : 2;  // where tiles take over: docs/kernels/cpu.md
  set.dot_instruction = "tdpbf16ps";
  set.dots_per_mac = 1;
  set.expand_panel = nullptr;
  set.panel_dot = nullptr;
  set.gather_tiles = gather_tiles;
  set.tile_dot = tile_dot;
  set.dot_peak = tile_peak;
  return set;
}

}  // namespace

const KernelTable kAmxBf16Kernels = {IsaTier::amx_bf16, with_tiles<2>(), with_tiles<1>(), kRowKernels};

}  // namespace tilewright::cpu
