#include "checkpoint/matrix_quantizer.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace tilewright {
namespace {

double decibels(double signal, double noise) {
  return noise > 0.0 ? 10.0 * std::log10(signal / noise) : std::numeric_limits<double>::infinity();
}

struct Errors {
  double signal = 0.0;
  double noise = 0.0;
  float largest = 0.0F;
};

// Sums of a block in fp32, which compilers vectorise; of blocks in double, where a long sum would lose digits.
Errors measure_block(const float* values, const float* dequantized) {
  float signal = 0.0F;
  float noise = 0.0F;
  float largest = 0.0F;
  for (int i = 0; i < kBlock; ++i) {
    const float error = values[i] - dequantized[i];
    signal += values[i] * values[i];
    noise += error * error;
    largest = std::max(largest, std::fabs(error));
  }
  return {static_cast<double>(signal), static_cast<double>(noise), largest};
}

}  // namespace

MatrixQuantizer::MatrixQuantizer(float global_scale, std::int64_t cols, ScaleSelection selection)
    : selection_(selection), dequantized_(static_cast<std::size_t>(cols)) {
  account_.global_scale = global_scale;
  account_.cols = cols;
}

void MatrixQuantizer::add_row(std::span<const float> values, std::uint8_t* codes, std::uint8_t* scales) {
  const std::span<std::uint8_t> row_codes(codes, values.size() / 2);
  const std::span<std::uint8_t> row_scales(scales, values.size() / kBlock);
  quantize_row(values, 1.0F / account_.global_scale, row_codes, row_scales, selection_);
  dequantize_row(row_codes, row_scales, account_.global_scale, dequantized_);
  for (std::size_t block = 0; block < row_scales.size(); ++block) {
    const Errors errors = measure_block(values.data() + block * kBlock, dequantized_.data() + block * kBlock);
    account_.signal += errors.signal;
    account_.noise += errors.noise;
    account_.max_error = std::max(account_.max_error, static_cast<double>(errors.largest));
    account_.zero_blocks += row_scales[block] == 0 ? 1 : 0;
  }
  std::int64_t bad = -1;
  account_.amax = std::max(account_.amax, largest_magnitude(values, bad));
  ++account_.rows;
}

float largest_magnitude(std::span<const float> values, std::int64_t& bad) {
  // The bits of a magnitude compare as the magnitudes do, and infinities and NaN come last.
  std::uint32_t largest = 0;
  for (const float value : values) largest = std::max(largest, std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFFU);
  bad = -1;
  if (largest < 0x7F800000U) return std::bit_cast<float>(largest);
  bad = std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); }) - values.begin();
  return std::numeric_limits<float>::infinity();
}

double MatrixQuantization::snr_db() const { return decibels(signal, noise); }

double QuantizeReport::snr_db() const {
  double signal = 0.0;
  double noise = 0.0;
  for (const MatrixQuantization& matrix : matrices) {
    signal += matrix.signal;
    noise += matrix.noise;
  }
  return decibels(signal, noise);
}

MatrixQuantization quantize_matrix(const float* values, std::int64_t rows, std::int64_t cols, float global_scale,
                                   ScaleSelection selection, std::uint8_t* codes, std::uint8_t* scales) {
  MatrixQuantizer quantizer(global_scale, cols, selection);
  for (std::int64_t row = 0; row < rows; ++row) {
    quantizer.add_row({values + row * cols, static_cast<std::size_t>(cols)}, codes + row * cols / 2,
                      scales + row * cols / kBlock);
  }
  return quantizer.account();
}

}  // namespace tilewright
