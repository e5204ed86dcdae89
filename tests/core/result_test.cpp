#include "tilewright/result.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace tilewright {
namespace {

Result<int> half(int x) {
  if (x % 2 != 0) return fail(ErrorCode::invalid_argument, "3 is odd", "pass an even number");
  return x / 2;
}

Result<int> quarter(int x) {
  TILEWRIGHT_ASSIGN(const int once, half(x));
  TILEWRIGHT_ASSIGN(const int twice, half(once));
  return twice;
}

Status check(int x) {
  TILEWRIGHT_TRY(half(x));
  return {};
}

TEST(Result, CarriesAValueThroughEveryStep) { EXPECT_EQ(quarter(12).value(), 3); }

TEST(Result, ReturnsTheFirstErrorOfASequence) {
  const auto result = quarter(6);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::invalid_argument);
  EXPECT_FALSE(check(3));
  EXPECT_TRUE(check(4));
}

TEST(Result, JoinsCauseAndRemedyOnOneLine) {
  EXPECT_EQ(half(3).error().message(), "3 is odd; pass an even number");
  EXPECT_EQ((Error{ErrorCode::io, "the disk is full", ""}).message(), "the disk is full");
}

TEST(Result, GivesEveryCodeItsOwnName) {
  std::set<std::string> names;
  for (const ErrorCode code : {ErrorCode::invalid_argument, ErrorCode::not_found, ErrorCode::io, ErrorCode::corrupt,
                               ErrorCode::mismatch, ErrorCode::unsupported, ErrorCode::exhausted}) {
    names.insert(to_string(code));
  }
  EXPECT_EQ(names.size(), 7U);
  EXPECT_EQ(names.count("unknown"), 0U);
}

}  // namespace
}  // namespace tilewright
