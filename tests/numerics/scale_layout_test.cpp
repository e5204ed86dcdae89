#include "tilewright/scale_layout.hpp"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilewright {
namespace {

static_assert(swizzled_scale_offset(33, 1, 8) == 21, "the offset is usable at compile time");

using Bytes = std::vector<std::uint8_t>;

TEST(ScaleLayout, EveryScaleHasItsOwnPlaceInsideTheTensor) {
  EXPECT_TRUE(rc::check([] {
    const auto rows = *rc::gen::inRange<std::int64_t>(1, 300);
    const auto cols = *rc::gen::inRange<std::int64_t>(1, 20);
    std::vector<bool> taken(static_cast<std::size_t>(swizzled_scale_bytes(rows, cols)), false);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t col = 0; col < cols; ++col) {
        const auto offset = static_cast<std::size_t>(swizzled_scale_offset(row, col, cols));
        RC_ASSERT(offset < taken.size());
        RC_ASSERT(!taken[offset]);
        taken[offset] = true;
      }
    }
  }));
}

TEST(ScaleLayout, SwizzlingAndBackGivesTheSameScales) {
  EXPECT_TRUE(rc::check([] {
    const auto rows = *rc::gen::inRange<std::int64_t>(0, 300);
    const auto cols = *rc::gen::inRange<std::int64_t>(0, 20);
    const auto linear =
        *rc::gen::container<Bytes>(static_cast<std::size_t>(rows * cols), rc::gen::arbitrary<std::uint8_t>());
    Bytes swizzled(static_cast<std::size_t>(swizzled_scale_bytes(rows, cols)), 0x7F);
    RC_ASSERT(swizzle_scales(linear, rows, cols, swizzled).has_value());
    Bytes back(linear.size(), 0xAA);
    RC_ASSERT(unswizzle_scales(swizzled, rows, cols, back).has_value());
    RC_ASSERT(back == linear);
  }));
}

TEST(ScaleLayout, WritesZerosOverWhateverThePaddingHeld) {
  const std::int64_t rows = 130;
  const std::int64_t cols = 6;
  const Bytes linear(static_cast<std::size_t>(rows * cols), 1);
  Bytes swizzled(static_cast<std::size_t>(swizzled_scale_bytes(rows, cols)), 0x7F);
  ASSERT_TRUE(swizzle_scales(linear, rows, cols, swizzled));
  EXPECT_EQ(std::accumulate(swizzled.begin(), swizzled.end(), 0), rows * cols);
}

TEST(ScaleLayout, RefusesBuffersOfTheWrongSizeAndNamesTheRightOne) {
  Bytes linear(129 * 5);
  Bytes swizzled(2048);
  ASSERT_TRUE(swizzle_scales(linear, 129, 5, swizzled));
  const auto short_output = swizzle_scales(linear, 129, 5, std::span(swizzled).first(2047));
  ASSERT_FALSE(short_output);
  EXPECT_EQ(short_output.error().code, ErrorCode::mismatch);
  EXPECT_NE(short_output.error().message().find("2048"), std::string::npos);
  const auto short_input = unswizzle_scales(swizzled, 129, 5, std::span(linear).first(644));
  ASSERT_FALSE(short_input);
  EXPECT_NE(short_input.error().message().find("645"), std::string::npos);
}

TEST(ScaleLayout, RefusesNegativeAndOverflowingShapes) {
  Bytes none;
  EXPECT_EQ(swizzle_scales(none, -1, 4, none).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(swizzle_scales(none, std::int64_t{1} << 62, 4, none).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(swizzle_scales(none, 4, std::int64_t{1} << 62, none).error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace tilewright
