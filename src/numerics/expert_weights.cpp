#include "tilewright/expert_weights.hpp"

#include <algorithm>
#include <cstring>

namespace tilewright {
namespace {

// Copies `valid` strided bytes and zeroes the rest of a line of `total`.
void read_line(const std::uint8_t* source, std::int64_t stride, std::int64_t valid, std::int64_t total,
               std::uint8_t* line) {
  if (valid > 0 && stride == 1) {
    std::memcpy(line, source, static_cast<std::size_t>(valid));
  } else {
    for (std::int64_t i = 0; i < valid; ++i) line[i] = source[i * stride];
  }
  std::fill(line + valid, line + total, std::uint8_t{0});
}

}  // namespace

void Nvfp4Matrix::read_row(std::int64_t n, std::uint8_t* row_codes, std::uint8_t* row_scales) const {
  const bool padding = n >= valid_rows;
  const std::int64_t code_bytes = padding ? 0 : valid_cols / 2;
  const std::int64_t scale_bytes = padding ? 0 : valid_cols / 16;
  // The address of a padding row may lie outside the file: it is never formed.
  const std::uint8_t* first_code = padding ? nullptr : codes + n * code_row_stride;
  const std::uint8_t* first_scale = padding ? nullptr : scales + n * scale_row_stride;
  read_line(first_code, code_col_stride, code_bytes, cols / 2, row_codes);
  read_line(first_scale, scale_col_stride, scale_bytes, cols / 16, row_scales);
}

}  // namespace tilewright
