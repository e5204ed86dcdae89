#include "tilewright/expert_weights.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilewright {
namespace {

using Bytes = std::vector<std::uint8_t>;

// A plain [rows, cols / 2] + [rows, cols / 16] matrix of arbitrary bytes.
struct Plain {
  std::int64_t rows;
  std::int64_t cols;
  Bytes codes;
  Bytes scales;
};

Plain arbitrary_plain() {
  const auto rows = *rc::gen::inRange<std::int64_t>(1, 7);
  const auto cols = 16 * *rc::gen::inRange<std::int64_t>(1, 6);
  const auto codes =
      *rc::gen::container<Bytes>(static_cast<std::size_t>(rows * cols / 2), rc::gen::arbitrary<std::uint8_t>());
  const auto scales =
      *rc::gen::container<Bytes>(static_cast<std::size_t>(rows * cols / 16), rc::gen::arbitrary<std::uint8_t>());
  return Plain{rows, cols, codes, scales};
}

Nvfp4Matrix plain_view(const Plain& plain) {
  Nvfp4Matrix view;
  view.codes = plain.codes.data();
  view.scales = plain.scales.data();
  view.rows = view.valid_rows = plain.rows;
  view.cols = view.valid_cols = plain.cols;
  view.code_row_stride = plain.cols / 2;
  view.scale_row_stride = plain.cols / 16;
  return view;
}

struct Row {
  Bytes codes;
  Bytes scales;
  bool operator==(const Row&) const = default;
};

// Poisoned first, so that a byte that read_row leaves out shows.
Row read(const Nvfp4Matrix& matrix, std::int64_t n) {
  Row row{Bytes(static_cast<std::size_t>(matrix.cols / 2), 0xEE),
          Bytes(static_cast<std::size_t>(matrix.cols / 16), 0x7F)};
  matrix.read_row(n, row.codes.data(), row.scales.data());
  return row;
}

Row expected_row(const Plain& plain, std::int64_t n) {
  const auto slice = [n](const Bytes& bytes, std::int64_t width) {
    return Bytes(bytes.begin() + n * width, bytes.begin() + (n + 1) * width);
  };
  return Row{slice(plain.codes, plain.cols / 2), slice(plain.scales, plain.cols / 16)};
}

Bytes transposed(const Bytes& bytes, std::int64_t rows, std::int64_t width) {
  Bytes result(bytes.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < width; ++c) {
      result[static_cast<std::size_t>(c * rows + r)] = bytes[static_cast<std::size_t>(r * width + c)];
    }
  }
  return result;
}

TEST(ReadRow, APlainMatrixGivesItsRows) {
  EXPECT_TRUE(rc::check([] {
    const Plain plain = arbitrary_plain();
    const Nvfp4Matrix view = plain_view(plain);
    for (std::int64_t n = 0; n < plain.rows; ++n) RC_ASSERT(read(view, n) == expected_row(plain, n));
  }));
}

TEST(ReadRow, ATransposedMatrixGivesTheSameRows) {
  EXPECT_TRUE(rc::check([] {
    const Plain plain = arbitrary_plain();
    const Bytes codes = transposed(plain.codes, plain.rows, plain.cols / 2);
    const Bytes scales = transposed(plain.scales, plain.rows, plain.cols / 16);
    Nvfp4Matrix view = plain_view(plain);
    view.codes = codes.data();
    view.scales = scales.data();
    view.code_row_stride = view.scale_row_stride = 1;
    view.code_col_stride = view.scale_col_stride = plain.rows;
    for (std::int64_t n = 0; n < plain.rows; ++n) RC_ASSERT(read(view, n) == expected_row(plain, n));
  }));
}

TEST(ReadRow, EveryOtherRowOfAnInterleavedMatrixIsOneOfThePair) {
  EXPECT_TRUE(rc::check([] {
    const Plain both = arbitrary_plain();
    RC_PRE(both.rows % 2 == 0);
    for (const std::int64_t half : {0, 1}) {
      Nvfp4Matrix view = plain_view(both);
      view.codes += half * both.cols / 2;
      view.scales += half * both.cols / 16;
      view.rows = view.valid_rows = both.rows / 2;
      view.code_row_stride *= 2;
      view.scale_row_stride *= 2;
      for (std::int64_t n = 0; n < view.rows; ++n) RC_ASSERT(read(view, n) == expected_row(both, 2 * n + half));
    }
  }));
}

TEST(ReadRow, PaddingIsZeroCodesAndZeroScalesAroundTheRealRows) {
  EXPECT_TRUE(rc::check([] {
    const Plain plain = arbitrary_plain();
    Nvfp4Matrix view = plain_view(plain);
    view.rows += *rc::gen::inRange(0, 3);
    view.cols += 16 * *rc::gen::inRange(0, 3);
    for (std::int64_t n = 0; n < view.rows; ++n) {
      Row expected = n < plain.rows ? expected_row(plain, n) : Row{};
      expected.codes.resize(static_cast<std::size_t>(view.cols / 2), 0);
      expected.scales.resize(static_cast<std::size_t>(view.cols / 16), 0);
      RC_ASSERT(read(view, n) == expected);
    }
  }));
}

TEST(ReadRow, WhatTheFileHoldsBehindTheValidColumnsIsNotRead) {
  const Plain plain{1, 32, Bytes(16, 0x77), Bytes(2, 0x7F)};
  Nvfp4Matrix view = plain_view(plain);
  view.valid_cols = 16;
  const Row row = read(view, 0);
  EXPECT_EQ(std::count(row.codes.begin(), row.codes.end(), 0x77), 8);
  EXPECT_EQ(row.scales, (Bytes{0x7F, 0x00}));
}

}  // namespace
}  // namespace tilewright
