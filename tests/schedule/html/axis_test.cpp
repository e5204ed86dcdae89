#include "schedule/html/axis.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>

namespace tilewright::html {
namespace {

std::vector<std::string> labels(const Axis& axis) {
  std::vector<std::string> words;
  for (const double tick : axis.ticks) words.push_back(tick_words(tick));
  return words;
}

TEST(Axis, GrowsALogarithmicRangeToRoundEnds) {
  const Axis axis = fit_axis({"us", true, {}}, {3.7, 42, 380}, 8);
  EXPECT_EQ(labels(axis), (std::vector<std::string>{"2", "5", "10", "20", "50", "100", "200", "500"}));
  EXPECT_DOUBLE_EQ(axis.low, 2);
  EXPECT_DOUBLE_EQ(axis.high, 500);
}

TEST(Axis, ThinsItsTicksToAsManyAsFit) {
  EXPECT_EQ(labels(fit_axis({"us", true, {}}, {1, 10000}, 6)),
            (std::vector<std::string>{"1", "10", "100", "1,000", "10,000"}));
  EXPECT_EQ(labels(fit_axis({"us", true, {}}, {1e-6, 1e6}, 4)), (std::vector<std::string>{"0.0001", "1", "10,000"}));
}

TEST(Axis, BeginsAtZeroWhereItIsLinear) {
  const Axis axis = fit_axis({"%", false, {}}, {12, 87}, 6);
  EXPECT_EQ(labels(axis), (std::vector<std::string>{"0", "20", "40", "60", "80", "100"}));
}

TEST(Axis, ShowsTheMarksThatAreAskedFor) {
  const Axis axis = fit_axis({"tokens", true, {1, 16, 4096}}, {1, 16, 4096}, 6);
  EXPECT_EQ(labels(axis), (std::vector<std::string>{"1", "16", "4,096"}));
  EXPECT_LT(axis.low, 1);
  EXPECT_GT(axis.high, 4096);
}

TEST(Axis, TakesOneValueAndNone) {
  EXPECT_GE(fit_axis({"us", true, {}}, {100}, 5).ticks.size(), 2U);
  EXPECT_EQ(fit_axis({"tokens", true, {8}}, {8}, 5).ticks.size(), 1U);
  EXPECT_GE(fit_axis({"us", true, {}}, {}, 5).ticks.size(), 2U);
  EXPECT_GE(fit_axis({"us", false, {}}, {0, 0}, 5).ticks.size(), 2U);
}

TEST(Axis, LeavesOutWhatItCannotShow) {
  const double inf = std::numeric_limits<double>::infinity();
  const Axis axis = fit_axis({"us", true, {}}, {-1, 0, 20, inf, std::nan("")}, 5);
  EXPECT_FALSE(axis.holds(0));
  EXPECT_FALSE(axis.holds(inf));
  EXPECT_FALSE(axis.holds(std::nan("")));
  EXPECT_LE(axis.low, 20);
  EXPECT_GE(axis.high, 20);
  EXPECT_LT(axis.high, 1000);
}

TEST(Axis, HoldsEveryValueBetweenItsEndsWithTwoTicksOrMore) {
  EXPECT_TRUE(rc::check("position is within 0 and 1", [] {
    const bool log = *rc::gen::arbitrary<bool>();
    const int most = *rc::gen::inRange(2, 12);
    std::vector<double> values;
    for (const int thousandths :
         *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(-9000, 9000)))) {
      values.push_back(std::pow(10.0, thousandths / 1000.0));
    }
    const Axis axis = fit_axis({"", log, {}}, values, most);
    RC_ASSERT(axis.ticks.size() >= 1U);
    RC_ASSERT(axis.ticks.size() <= static_cast<std::size_t>(most) + 1);
    for (const double value : values) {
      RC_ASSERT(axis.position(value) >= -1e-9);
      RC_ASSERT(axis.position(value) <= 1 + 1e-9);
    }
    for (const double tick : axis.ticks) {
      RC_ASSERT(axis.position(tick) >= -1e-9);
      RC_ASSERT(axis.position(tick) <= 1 + 1e-9);
    }
  }));
}

TEST(TickWords, AreShort) {
  EXPECT_EQ(tick_words(0.5), "0.5");
  EXPECT_EQ(tick_words(0), "0");
  EXPECT_EQ(tick_words(0.02), "0.02");
  EXPECT_EQ(tick_words(16384), "16,384");
  EXPECT_EQ(tick_words(1e20), "1e+20");
}

}  // namespace
}  // namespace tilewright::html
