// Activation rows in the form that the integer dot products read.
//
// A row x[0..K) is held as int8 planes with one multiplier for each 16-block:
//
//   x[k] = unit * m[k / 16] * (plane0[k])                       one plane:  w4a4, exact
//   x[k] = unit * m[k / 16] * (256 * plane0[k] + plane1[k])     two planes: w4a16, a block's 16-bit fixed point
//
// w4a4: a plane is the doubled e2m1 code (|p| <= 12) and m carries the ue4m3 block scale: nothing rounds.
// w4a16: m is a power of two, chosen so that the block's largest magnitude takes 15 bits and a sign. A bf16 value has
// 8 significant bits, so every element within 2^-7 of its block's maximum is held exactly; a smaller one is off by at
// most m * unit / 2 <= 2^-15 of the block's maximum, less than what bf16 itself rounds off that maximum (2^-9).
//
// The weight operand is offset by 12 to be unsigned (tile_layout.hpp), so each block carries the correction
// -12 * sum(plane), taken where it costs the least: pair16 kernels add it to the finished block in fp32, sum32 kernels
// start their accumulators from it.
//
// One record a block, in ascending k; K is padded to whole groups of 64 with zero records.
//
//   format        bytes  record
//   codes_pair16     24  [16] int8; two equal int16, m; fp32 correction times m
//   wide_pair16      44  [2][16] int8; two int16 256 * m, two int16 m; fp32 correction of both planes times m
//   codes_sum32      24  [16] int8; fp32 m; int32 correction
//   wide_sum32       48  [2][16] int8; fp32 m twice; int32 correction of each plane
//   bf16             32  [8][2] bf16: the activations as they are (unit 1), paired (0, 2), (1, 3), (4, 6), (5, 7), ...
//   bf16_tile        32  the same with a unit: w4a16, the power of two that brings the row's largest magnitude to 2^120
//                        (by 2^126 at most); w4a4, the doubled e2m1 code times the block scale in units of 2^-9.
//                        The weights that it meets are 2^-10 to 2^11.4 times 2^-112, so no product of an element
//                        within 2^-124 of its row's largest falls below 2^-126, where tdpbf16ps takes zero.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cpu/tile_layout.hpp"
#include "tilewright/float_types.hpp"
#include "tilewright/nvfp4.hpp"
#include "tilewright/result.hpp"

namespace tilewright::cpu {

enum class RowFormat { codes_pair16, wide_pair16, codes_sum32, wide_sum32, bf16, bf16_tile };

constexpr bool is_bf16(RowFormat format) { return format == RowFormat::bf16 || format == RowFormat::bf16_tile; }

/// int8 planes of a format; 0 for bf16.
constexpr int planes_of(RowFormat format) {
  if (is_bf16(format)) return 0;
  return format == RowFormat::codes_pair16 || format == RowFormat::codes_sum32 ? 1 : 2;
}

constexpr bool is_pair16(RowFormat format) {
  return format == RowFormat::codes_pair16 || format == RowFormat::wide_pair16;
}

/// Bytes of one block record.
constexpr int record_bytes(RowFormat format) {
  if (is_bf16(format)) return 32;
  return is_pair16(format) ? 20 * planes_of(format) + 4 : 24 * planes_of(format);
}

/// What one step of a kernel's result is worth beside the row's unit: its weights are doubled codes, or bf16 of 2^-112
/// the value.
constexpr float dot_unit(RowFormat format) { return format == RowFormat::bf16_tile ? 0x1p112F : kWeightUnit; }

/// Offsets within a record of a format with planes.
constexpr int multiplier_offset(int planes, int plane) { return planes * 16 + plane * 4; }
constexpr int correction_offset(int planes, int plane) { return planes * 20 + plane * 4; }

struct RowKernels;

/// Rows of activations, each K padded to whole groups of 64 with zero blocks. Different rows may be set at the same
/// time.
class DotRows {
 public:
  /// Makes room for `rows` rows of k elements; what was there is lost, capacity stays.
  void reset(std::int64_t rows, std::int64_t k, RowFormat format, const RowKernels& kernels);

  /// Sets a row from bf16 values held as fp32 (a wide or a bf16 format). False when a value is not finite.
  bool set_wide(std::int64_t row, std::span<const float> x);

  /// Quantizes a row to NVFP4 by the exact recipe of nvfp4.hpp (a codes format or bf16_tile); `global_scale` is the
  /// multiplier of the whole row. Blocks whose scale does not fit the multiplier beside the row's largest go to the
  /// row's `tail`, a second set of records that is added to the first (codes_pair16 only: 15 bits of multiplier against
  /// ue4m3's 18). False when a value is not finite.
  bool set_nvfp4(std::int64_t row, std::span<const float> x, float global_scale);

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] RowFormat format() const { return format_; }
  [[nodiscard]] int groups() const { return groups_; }
  [[nodiscard]] std::size_t row_bytes() const { return row_bytes_; }
  [[nodiscard]] const std::uint8_t* row(std::int64_t i) const { return records_.data() + i * row_bytes_; }
  [[nodiscard]] float unit(std::int64_t i) const { return units_[i]; }
  /// The tail records of a row, or null where it has none (nearly always).
  [[nodiscard]] const std::uint8_t* tail(std::int64_t i) const {
    return tails_[i].empty() ? nullptr : tails_[i].data();
  }
  [[nodiscard]] float tail_unit(std::int64_t i) const { return tail_units_[i]; }

 private:
  std::uint8_t* record(std::int64_t row, std::int64_t block);
  void pad(std::int64_t row, std::int64_t block);

  const RowKernels* kernels_ = nullptr;
  std::int64_t rows_ = 0;
  int groups_ = 0;
  RowFormat format_ = RowFormat::bf16;
  std::size_t row_bytes_ = 0;
  std::vector<std::uint8_t> records_;
  std::vector<float> units_;
  std::vector<std::vector<std::uint8_t>> tails_;
  std::vector<float> tail_units_;
};

}  // namespace tilewright::cpu
