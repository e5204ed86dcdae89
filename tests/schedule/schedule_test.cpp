#include "tilewright/schedule.hpp"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

TEST(Schedule, ParsesTilesWithAndWithoutStages) {
  const auto tile = parse_tile("128x256x64");
  ASSERT_TRUE(tile);
  EXPECT_EQ(tile->m, 128);
  EXPECT_EQ(tile->n, 256);
  EXPECT_EQ(tile->k, 64);
  EXPECT_EQ(tile->stages, 0);
  EXPECT_EQ(parse_tile("128X256x128:3").value().stages, 3);
  EXPECT_EQ(to_string(parse_tile("128x256x128:3").value()), "128x256x128:3");
}

TEST(Schedule, RefusesWhatIsNoTile) {
  for (const char* text :
       {"", "128", "128x256", "128x256x", "x256x64", "128x256x64x1", "128x256x64:", "128x256x64:0", "0x8x64", "-1x8x64",
        "128x8x64 ", "128*8*64", "16385x8x64", "99999999999x8x64", "128x8x64:3x"}) {
    const auto tile = parse_tile(text);
    ASSERT_FALSE(tile) << text;
    EXPECT_NE(tile.error().message().find("128x256x128:3"), std::string::npos) << "the remedy shows the form";
  }
}

TEST(Schedule, NamesEveryEnumeratorAndReadsItBack) {
  for (const auto mma : {Mma::wgmma_rs_bf16, Mma::mma_mxf4nvf4, Mma::mma_bf16, Mma::cpu_stream, Mma::cpu_panel}) {
    EXPECT_EQ(parse_mma(to_string(mma)).value(), mma);
  }
  for (const auto epilogue : {Epilogue::bf16, Epilogue::finalize, Epilogue::act_bf16, Epilogue::act_nvfp4,
                              Epilogue::gated_bf16, Epilogue::gated_nvfp4}) {
    EXPECT_EQ(parse_epilogue(to_string(epilogue)).value(), epilogue);
  }
  const auto unknown = parse_split("stream-k");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message().find("stream_k"), std::string::npos);
}

TEST(Schedule, DescribesItselfOnOneLine) {
  Schedule s;
  s.arch = Arch::sm_120;
  s.precision = Precision::w4a4;
  s.mma = Mma::mma_mxf4nvf4;
  s.tile_m = 128;
  s.tile_n = 16;
  s.tile_k = 256;
  s.stages = 4;
  s.roles = {1, 8, Consumers::cooperative};
  s.split = {SplitKind::split_k, 2};
  s.epilogue = Epilogue::finalize;
  EXPECT_EQ(describe(s), "128x16x256, 4 stages, cooperative 8+1 warps, split-K 2, finalize");
  EXPECT_EQ(threads(s), 288);
  EXPECT_EQ(accumulators(s), 128 * 16 / 256);
}

}  // namespace
}  // namespace tilewright
