#include "tools/tilewright/number_list.hpp"

#include <gtest/gtest.h>

namespace tilewright::cli {
namespace {

using Numbers = std::vector<int>;

TEST(NumberList, ReadsSingleNumbersAndLists) {
  EXPECT_EQ(parse_number_list("8", "--tokens", 0), Numbers({8}));
  EXPECT_EQ(parse_number_list("1,8,64", "--tokens", 0), Numbers({1, 8, 64}));
  EXPECT_EQ(parse_number_list("0", "--tokens", 0), Numbers({0}));
}

TEST(NumberList, ReadsRanges) {
  EXPECT_EQ(parse_number_list("3..6", "--tokens", 1), Numbers({3, 4, 5, 6}));
  EXPECT_EQ(parse_number_list("5..5", "--tokens", 1), Numbers({5}));
}

TEST(NumberList, ARangeWithAFactorStopsBeforeItsEndIsPassed) {
  EXPECT_EQ(parse_number_list("1..16x2", "--tokens", 1), Numbers({1, 2, 4, 8, 16}));
  EXPECT_EQ(parse_number_list("3..30x3", "--tokens", 1), Numbers({3, 9, 27}));
}

TEST(NumberList, JoinsRangesAndNumbers) {
  EXPECT_EQ(parse_number_list("1..3,100,200..800x2", "--tokens", 1), Numbers({1, 2, 3, 100, 200, 400, 800}));
}

TEST(NumberList, NamesThePartThatIsNotANumber) {
  for (const std::string text :
       {"", "a", "1,,2", "1,", "-1", "1.5", "1..", "..4", "1..4x", "1..4xb", "99999999999999999999"}) {
    const auto parsed = parse_number_list(text, "--tokens", 0);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::invalid_argument) << text;
    EXPECT_NE(parsed.error().message().find("--tokens"), std::string::npos) << parsed.error().message();
  }
}

TEST(NumberList, RefusesRangesThatRunBackwardsOrNeverMove) {
  EXPECT_FALSE(parse_number_list("4..1", "--tokens", 0));
  EXPECT_FALSE(parse_number_list("0..8x2", "--tokens", 0));
  EXPECT_FALSE(parse_number_list("1..8x1", "--tokens", 0));
  EXPECT_FALSE(parse_number_list("1..8x0", "--tokens", 0));
}

TEST(NumberList, RefusesNumbersOutsideTheirRange) {
  EXPECT_FALSE(parse_number_list("0", "--tp", 1));
  EXPECT_FALSE(parse_number_list("2147483648", "--tokens", 0));
  EXPECT_EQ(parse_number_list("2147483647", "--tokens", 0), Numbers({2147483647}));
  EXPECT_EQ(parse_number_list("1..2147483647x2147483647", "--tokens", 0), Numbers({1, 2147483647}));
}

TEST(NumberList, HoldsAtMost4096Numbers) {
  EXPECT_EQ(parse_number_list("1..4096", "--tokens", 0)->size(), 4096U);
  const auto parsed = parse_number_list("1..4097", "--tokens", 0);
  ASSERT_FALSE(parsed);
  EXPECT_NE(parsed.error().message().find("4096"), std::string::npos);
}

}  // namespace
}  // namespace tilewright::cli
