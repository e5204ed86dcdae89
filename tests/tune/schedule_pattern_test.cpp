#include "tilewright/schedule_pattern.hpp"

#include <gtest/gtest.h>

#include "tilewright/sm90_catalogue.hpp"

namespace tilewright {
namespace {

Schedule gathering(SplitKind split) { return sm90_schedule(Sm90Tile{256, 8, 256, 5, split}, Epilogue::gated_bf16); }

TEST(SchedulePattern, MatchesWhatItNames) {
  const Schedule whole = gathering(SplitKind::none);
  const Schedule even = gathering(SplitKind::stream_k);
  EXPECT_TRUE(parse_schedule_pattern("256x8x256")->matches(whole));
  EXPECT_TRUE(parse_schedule_pattern("256x8x256")->matches(even));
  EXPECT_FALSE(parse_schedule_pattern("256x16x256")->matches(whole));
  EXPECT_TRUE(parse_schedule_pattern("256x8x256:5/stream_k/gather/cooperative")->matches(even));
  EXPECT_FALSE(parse_schedule_pattern("256x8x256:4")->matches(even));
  EXPECT_FALSE(parse_schedule_pattern("256x8x256/stream_k")->matches(whole));
  EXPECT_FALSE(parse_schedule_pattern("256x8x256/tile_order")->matches(whole));
  EXPECT_FALSE(parse_schedule_pattern("256x8x256/pingpong")->matches(whole));
}

TEST(SchedulePattern, ReadsWhatItPrints) {
  for (const std::string text :
       {"256x8x256", "256x8x256:5/stream_k", "128x240x128/none/tile_order", "1x2x3/pingpong"}) {
    EXPECT_EQ(to_string(*parse_schedule_pattern(text)), text);
  }
  EXPECT_EQ(to_string(*parse_schedule_pattern("256x8x256/gather/stream_k")), "256x8x256/stream_k/gather");
}

TEST(SchedulePattern, SaysWhatItDoesNotKnow) {
  for (const std::string text : {"", "256", "256x8x256/", "256x8x256/fast", "256x8x256/none/stream_k", "/gather"}) {
    const auto pattern = parse_schedule_pattern(text);
    ASSERT_FALSE(pattern) << text;
    EXPECT_EQ(pattern.error().code, ErrorCode::invalid_argument);
  }
  EXPECT_NE(parse_schedule_pattern("256x8x256/fast").error().message().find("fast"), std::string::npos);
}

}  // namespace
}  // namespace tilewright
