#include "checkpoint/matrix_statistics.hpp"

#include <bit>
#include <cstring>
#include <vector>

#include "tilewright/nvfp4.hpp"

namespace tilewright {
namespace {

constexpr std::uint64_t kMagnitudes = 0x7777777777777777;
constexpr std::uint64_t kSigns = 0x8888888888888888;

void count_block(const std::uint8_t* codes, std::uint8_t scale, MatrixStatistics& statistics) {
  std::uint64_t nibbles = 0;
  std::memcpy(&nibbles, codes, sizeof(nibbles));
  // Adding 7 to a 3-bit magnitude sets bit 3 unless the magnitude is 0, and never carries into the next nibble.
  const std::uint64_t nonzero = ((nibbles & kMagnitudes) + kMagnitudes) & kSigns;
  statistics.zero_codes += kBlock - std::popcount(nonzero);
  statistics.negative_zero_codes += std::popcount(nibbles & kSigns & ~nonzero);
  statistics.zero_scales_with_codes += (scale & 0x7FU) == 0 && nonzero != 0 ? 1 : 0;
  ++statistics.scales[scale];
}

}  // namespace

void count_matrix(const Nvfp4Matrix& matrix, MatrixStatistics& statistics) {
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(matrix.cols / 2));
  std::vector<std::uint8_t> scales(static_cast<std::size_t>(matrix.cols / kBlock));
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    matrix.read_row(row, codes.data(), scales.data());
    for (std::size_t block = 0; block < scales.size(); ++block) {
      count_block(codes.data() + block * kBlock / 2, scales[block], statistics);
    }
  }
  statistics.weights += matrix.rows * matrix.cols;
}

}  // namespace tilewright
