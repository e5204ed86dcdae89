// Quantizing a matrix row by row, with an account of what it costs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tilewright/quantize.hpp"

namespace tilewright {

class MatrixQuantizer {
 public:
  /// `global_scale` is the multiplier that a reader will use.
  MatrixQuantizer(float global_scale, std::int64_t cols, ScaleSelection selection);

  /// Quantizes one row of `cols` values into cols / 2 code bytes and cols / 16 scale bytes.
  void add_row(std::span<const float> values, std::uint8_t* codes, std::uint8_t* scales);

  /// What happened to the rows so far.
  [[nodiscard]] const MatrixQuantization& account() const { return account_; }

 private:
  MatrixQuantization account_;
  ScaleSelection selection_;
  std::vector<float> dequantized_;
};

/// The largest magnitude of a row. `bad` receives the first element that is not finite, or -1.
float largest_magnitude(std::span<const float> values, std::int64_t& bad);

}  // namespace tilewright
