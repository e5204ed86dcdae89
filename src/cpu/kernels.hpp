// The CPU kernels of one instruction set, as a table: the layer code is written once against it.
//
// Both kernels compute, for each activation row r and the 16 weight rows n of a strip,
//   c[r][n] (+)= sum over k of w2[n][k] * sf[n][k / 16] * m[r][k / 16] * plane value
// with w2 the doubled e2m1 code; integer and exact within a block of 16, fp32 across blocks, in ascending k.
// The caller multiplies by kWeightUnit, the row's unit and the global scale.
#pragma once

#include <cstdint>

#include "cpu/dot_rows.hpp"
#include "cpu/isa.hpp"
#include "cpu/row_kernels.hpp"
#include "cpu/tile_layout.hpp"
#include "tilewright/device.hpp"
#include "tilewright/precision.hpp"

namespace tilewright::cpu {

/// Decodes a strip on the fly for up to `stream_rows` activation rows, and sets c. For few rows: the weights are read
/// once from memory and nothing is written.
using StreamDot = void (*)(const std::uint8_t* strip, int groups, const std::uint8_t* const* rows, int count, float* c);

/// Expands `groups` groups of a strip into a panel for `panel_dot`: what would be decoded again for every few rows.
using ExpandPanel = void (*)(const std::uint8_t* strip, int groups, std::uint8_t* panel);

/// Adds a panel's dot products with `count` activation rows to c; rows point at the panel's first block.
using PanelDot = void (*)(const std::uint8_t* panel, int groups, const std::uint8_t* const* rows, int count, float* c);

/// Puts rows (bf16_tile records) into tile order: [row / 16][k / 32][row % 16][32 bf16].
using GatherTiles = void (*)(const std::uint8_t* const* rows, int count, int groups, std::uint8_t* tiles);

/// Sets c, [strip][row][16], to the products of contiguous strips with `count` rows in tile order. Strips go in pairs:
/// c has room for an even number of them, `panel` for kTilePanelBytes a group.
using TileDot = void (*)(const std::uint8_t* strips, int strip_count, int groups, const std::uint8_t* tiles, int count,
                         std::uint8_t* panel, float* c);

/// The kernels of one precision. Where tile_dot is set it takes the place of expand_panel and panel_dot.
struct KernelSet {
  RowFormat stream_format = RowFormat::bf16;
  RowFormat panel_format = RowFormat::bf16;  ///< of panel_dot or gather_tiles
  const char* dot_instruction = "";          ///< what its peak is the peak of
  int dots_per_mac = 1;                      ///< multiply-adds of that instruction for one of the layer: the planes
  int stream_rows = 1;                       ///< rows that one call of stream_dot takes
  int stream_limit = 1;                      ///< up to this many rows stream_dot, called again, beats expanding a panel
  int panel_rows = 1;                        ///< rows that panel_dot takes at once; it takes any number in turn
  StreamDot stream_dot = nullptr;
  ExpandPanel expand_panel = nullptr;
  PanelDot panel_dot = nullptr;
  /// Runs `iterations` rounds of the instruction on registers alone and returns the multiply-adds done.
  double (*dot_peak)(std::int64_t iterations) = nullptr;
  GatherTiles gather_tiles = nullptr;
  TileDot tile_dot = nullptr;
};

/// K of an expanded panel: with what the rows have of it, as much as stays in L1 (docs/kernels/cpu.md).
inline constexpr int kPanelK = 512;

/// The ways over the weights, as the planner has them. Tiles keep two groups of K expanded.
constexpr CpuWalks walks_of(const KernelSet& kernels) {
  return {kernels.stream_rows, kernels.stream_limit, kernels.panel_rows,
          kernels.tile_dot != nullptr ? 2 * kGroupK : kPanelK};
}

struct KernelTable {
  IsaTier tier = IsaTier::portable;
  KernelSet w4a16;
  KernelSet w4a4;
  RowKernels rows;

  [[nodiscard]] const KernelSet& of(Precision precision) const { return precision == Precision::w4a16 ? w4a16 : w4a4; }
};

/// Bytes of a panel of `groups` groups: at most two bytes a weight and four a scale, for every tier.
constexpr std::int64_t panel_bytes(int groups) {
  return static_cast<std::int64_t>(groups) * (kStripRows * kGroupK * 2 + kStripRows * kGroupBlocks * 4);
}

/// Rows of a tile, and what two strips' expanded group of 64 k takes in bf16.
inline constexpr int kTileBlockRows = 16;
inline constexpr int kTilePanelBytes = 2 * kStripRows * kGroupK * 2;

/// The table of a tier; the tier must be one of available_tiers().
const KernelTable& kernels(IsaTier tier);

// One a translation unit, compiled with that instruction set's flags.
extern const KernelTable kPortableKernels;
#if defined(__x86_64__)
extern const KernelTable kAvx2Kernels;
extern const KernelTable kAvx512Kernels;
extern const KernelTable kAvx512VnniKernels;
extern const KernelTable kAvx512Bf16Kernels;
extern const KernelTable kAmxBf16Kernels;
#endif

}  // namespace tilewright::cpu
