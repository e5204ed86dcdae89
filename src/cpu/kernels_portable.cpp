// Portable kernels: the same sums as the vector ones in plain C++, for processors without AVX2 and as their check.
//
// A panel holds the signed doubled codes as int8 in [step][row][4 k] order, so the correction of the offset is not
// applied here, and a block's fp32 scales.
#include <array>
#include <cmath>
#include <cstring>

#include "cpu/kernels.hpp"
#include "cpu/row_kernels.inl.hpp"
#include "tilewright/nvfp4.hpp"

namespace tilewright::cpu {
namespace {

constexpr int kPanelCodeBytes = kStripRows * kBlockK;
constexpr int kPanelBlockBytes = kPanelCodeBytes + kStripRows * 4;

template <int kPlanes>
constexpr RowFormat kFormat = kPlanes == 1 ? RowFormat::codes_sum32 : RowFormat::wide_sum32;

std::array<float, 256> make_scale_table() {
  std::array<float, 256> table{};
  for (int byte = 0; byte < 256; ++byte) table[byte] = decode_ue4m3(static_cast<std::uint8_t>(byte));
  return table;
}

void expand_block(const std::uint8_t* group, int block, std::uint8_t* panel) {
  static const std::array<float, 256> kScales = make_scale_table();
  auto* weights = reinterpret_cast<std::int8_t*>(panel);
  for (int line = 0; line < 2; ++line) {
    const std::uint8_t* codes = group + code_offset(0, block, 8 * line);
    std::int8_t* even = weights + 2 * line * kStripRows * 4;
    std::int8_t* odd = even + kStripRows * 4;
    for (int i = 0; i < kStripRows * 4; ++i) {
      even[i] = static_cast<std::int8_t>(kWeightTable[codes[i] & 0xF] - kWeightOffset);
      odd[i] = static_cast<std::int8_t>(kWeightTable[codes[i] >> 4] - kWeightOffset);
    }
  }
  std::array<float, kStripRows> scales{};
  for (int row = 0; row < kStripRows; ++row) scales[row] = kScales[group[scale_offset(row, block)]];
  std::memcpy(panel + kPanelCodeBytes, scales.data(), sizeof(scales));
}

template <int kPlanes>
void add_block(const std::uint8_t* panel, const std::uint8_t* record, float* c) {
  const auto* weights = reinterpret_cast<const std::int8_t*>(panel);
  const auto* planes = reinterpret_cast<const std::int8_t*>(record);
  std::array<std::int32_t, kBlockK> x{};
  for (int k = 0; k < kBlockK; ++k) x[k] = kPlanes == 1 ? planes[k] : planes[k] * 256 + planes[kBlockK + k];
  float multiplier = 0.0F;
  std::memcpy(&multiplier, record + multiplier_offset(kPlanes, 0), sizeof(multiplier));
  std::array<float, kStripRows> scales{};
  std::memcpy(scales.data(), panel + kPanelCodeBytes, sizeof(scales));
  for (int row = 0; row < kStripRows; ++row) {
    std::int32_t sum = 0;
    for (int step = 0; step < 4; ++step) {
      const std::int8_t* w = weights + (step * kStripRows + row) * 4;
      for (int k = 0; k < 4; ++k) sum += w[k] * x[4 * step + k];
    }
    c[row] += static_cast<float>(sum) * (scales[row] * multiplier);
  }
}

void expand_panel(const std::uint8_t* strip, int groups, std::uint8_t* panel) {
  for (int g = 0; g < groups; ++g, strip += kGroupBytes) {
    for (int b = 0; b < kGroupBlocks; ++b, panel += kPanelBlockBytes) expand_block(strip, b, panel);
  }
}

template <int kPlanes>
void panel_dot(const std::uint8_t* panel, int groups, const std::uint8_t* const* rows, int count, float* c) {
  for (int b = 0; b < groups * kGroupBlocks; ++b, panel += kPanelBlockBytes) {
    for (int r = 0; r < count; ++r) {
      add_block<kPlanes>(panel, rows[r] + b * record_bytes(kFormat<kPlanes>), c + r * kStripRows);
    }
  }
}

template <int kPlanes>
void stream_dot(const std::uint8_t* strip, int groups, const std::uint8_t* const* rows, int count, float* c) {
  for (int i = 0; i < count * kStripRows; ++i) c[i] = 0.0F;
  alignas(64) std::array<std::uint8_t, kPanelBlockBytes> block{};
  for (int b = 0; b < groups * kGroupBlocks; ++b) {
    expand_block(strip + (b / kGroupBlocks) * kGroupBytes, b % kGroupBlocks, block.data());
    for (int r = 0; r < count; ++r) {
      add_block<kPlanes>(block.data(), rows[r] + b * record_bytes(kFormat<kPlanes>), c + r * kStripRows);
    }
  }
}

double dot_peak(std::int64_t iterations) {
  constexpr int kChains = 64;
  std::array<std::int32_t, kChains> sums{};
  std::array<std::int32_t, kChains> x{};
  for (int i = 0; i < kChains; ++i) x[i] = i - 32;
  for (std::int64_t i = 0; i < iterations; ++i) {
    const auto w = static_cast<std::int32_t>(i & 7);
    for (int j = 0; j < kChains; ++j) sums[j] += x[j] * w;
  }
  std::int32_t total = 0;
  for (const std::int32_t sum : sums) total += sum;
  asm volatile("" ::"r"(total));
  return static_cast<double>(iterations) * kChains;
}

constexpr const char* kInstruction = "32-bit integer multiply-add (compiled C++)";

}  // namespace

const KernelTable kPortableKernels = {
    IsaTier::portable,
    {RowFormat::wide_sum32, RowFormat::wide_sum32, kInstruction, 1, 4, 4, 1, stream_dot<2>, expand_panel, panel_dot<2>,
     dot_peak},
    {RowFormat::codes_sum32, RowFormat::codes_sum32, kInstruction, 1, 4, 4, 1, stream_dot<1>, expand_panel,
     panel_dot<1>, dot_peak},
    kRowKernels,
};

}  // namespace tilewright::cpu
