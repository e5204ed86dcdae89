#include "inspect/ptx.hpp"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

using inspect::read_ptx;

TEST(Ptx, TellsVersionTargetAndEntries) {
  const auto ptx = read_ptx(
      ".version 8.7\n.target sm_100a, debug\n.address_size 64\n"
      ".visible .entry first(.param .u64 p)\n.maxntid 128, 2\n.minnctapersm 3\n{ ret; }\n"
      ".weak .entry second()\n.reqntid 64\n{ { griddepcontrol.wait; } }\n",
      true);
  EXPECT_EQ(ptx.version, "8.7");
  EXPECT_EQ(to_string(ptx.target, ImageKind::ptx), "compute_100a");
  ASSERT_EQ(ptx.kernels.size(), 2U);
  EXPECT_EQ(ptx.kernels[0].symbol, "first");
  EXPECT_EQ(ptx.kernels[0].max_block->threads(), 256);
  EXPECT_EQ(ptx.kernels[0].min_blocks_per_sm, 3);
  EXPECT_EQ(ptx.kernels[0].griddep_wait, 0);
  EXPECT_EQ(ptx.kernels[1].required_block->threads(), 64);
  EXPECT_EQ(ptx.kernels[1].parameter_bytes, 0);
  EXPECT_EQ(ptx.kernels[1].griddep_wait, 1);
}

TEST(Ptx, TakesNeitherCommentsNorStringsForCode) {
  const auto ptx = read_ptx(
      ".version 9.0\n.target sm_90a\n// .entry commented(\n/* .entry too( */\n.file 1 \".entry quoted(\"\n"
      ".entry k() { // setmaxnreg.inc.sync.aligned.u32 232;\n /* griddepcontrol.wait; */ ret; }",
      true);
  ASSERT_EQ(ptx.kernels.size(), 1U);
  EXPECT_EQ(ptx.kernels[0].symbol, "k");
  EXPECT_EQ(ptx.kernels[0].setmaxnreg, 0);
  EXPECT_EQ(ptx.kernels[0].griddep_wait, 0);
}

TEST(Ptx, DoesNotCountInstructionsOfFunctionsThatAreNoEntries) {
  const auto ptx = read_ptx(".func f() { griddepcontrol.wait; }\n.entry k() { call f; }\n", true);
  ASSERT_EQ(ptx.kernels.size(), 1U);
  EXPECT_EQ(ptx.kernels[0].griddep_wait, 0);
}

TEST(Ptx, AddsUpParametersWithTheirAlignment) {
  const auto ptx = read_ptx(
      ".entry k(.param .u32 a, .param .align 64 .b8 b[128], .param .u64 .ptr .global .align 128 c, .param .u8 d) { }",
      false);
  ASSERT_EQ(ptx.kernels.size(), 1U);
  EXPECT_EQ(ptx.kernels[0].parameter_bytes, 64 + 128 + 8 + 1);
  EXPECT_EQ(ptx.kernels[0].setmaxnreg, std::nullopt);
}

TEST(Ptx, EndsWithTextThatEndsAnywhere) {
  const std::string text =
      ".version 9.0\n.target sm_120f\n.entry k(.param .align 8 .b8 p[9]) .maxntid 1,2,3 { { \"} /* }";
  for (std::size_t length = 0; length <= text.size(); ++length) {
    const auto ptx = read_ptx(text.substr(0, length), true);
    EXPECT_LE(ptx.kernels.size(), 1U);
  }
}

}  // namespace
}  // namespace tilewright
