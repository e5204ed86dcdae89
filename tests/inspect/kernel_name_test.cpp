// Names of kernels: real ones with what they state, and what is done with names that are none.
#include "tilewright/kernel_name.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "inspect/kernel_name_tree.hpp"

namespace tilewright {
namespace {

struct NamedKernel {
  std::string symbol;
  std::string bytes;
  std::string facts;
};

std::vector<NamedKernel> real_names() {
  std::ifstream file(std::string(TILEWRIGHT_TEST_DATA) + "/inspect/kernel_names.tsv");
  std::vector<NamedKernel> names;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream fields(line);
    NamedKernel name;
    std::getline(fields, name.symbol, '\t');
    std::getline(fields, name.bytes, '\t');
    std::getline(fields, name.facts, '\t');
    names.push_back(name);
  }
  return names;
}

// Every field that a name states, on one line.
std::string facts(const KernelName& name) {
  if (!name.cutlass) return std::string(to_string(name.family)) + " " + name.text;
  const CutlassKernelName& c = *name.cutlass;
  std::ostringstream out;
  out << to_string(name.family) << ' ' << to_string(c.arch) << ' ' << (c.grouped ? "grouped" : "dense") << " A=" << c.a
      << " B=" << c.b << " C=" << c.c << " D=" << c.d << " tile=" << c.tile.m << 'x' << c.tile.n << 'x' << c.tile.k
      << " cluster=" << c.cluster_m << 'x' << c.cluster_n << " policy=" << c.policy << " schedule=" << c.schedule
      << " warps=" << to_string(c.warps) << " stages=" << c.stages << '/' << c.scale_stages << '/' << c.scheduler_stages
      << '/' << c.accumulator_stages << " epilogue=" << c.epilogue << ' ' << c.epilogue_tile_m << 'x'
      << c.epilogue_tile_n << ' ' << c.stages_c << '/' << c.stages_d << " fusion=" << c.fusion
      << (c.finalize ? " finalize" : "") << (c.swap_ab ? " swap_ab" : "")
      << (c.scheduler.empty() ? "" : " " + c.scheduler);
  return out.str();
}

std::string bytes(const KernelName& name) {
  if (!name.cutlass) return "-";
  const auto kernel = cutlass_storage(*name.cutlass);
  return kernel ? std::to_string(kernel->total) : "unsupported";
}

std::string symbol_with(const std::string& part) {
  for (const NamedKernel& name : real_names()) {
    if (name.facts.find(part) != std::string::npos) return name.symbol;
  }
  ADD_FAILURE() << "no name with " << part;
  return {};
}

TEST(KernelName, OfRealKernelsStatesWhatTheyWereBuiltWith) {
  const auto names = real_names();
  ASSERT_GE(names.size(), 40U);
  for (const NamedKernel& name : names) EXPECT_EQ(facts(decode_kernel_name(name.symbol)), name.facts);
}

// Of the kernels compiled here the bytes are sizeof(GemmKernel::SharedStorage), printed by the compiler.
TEST(KernelName, OfRealKernelsTellsTheSharedMemoryThatTheyAskFor) {
  for (const NamedKernel& name : real_names())
    EXPECT_EQ(bytes(decode_kernel_name(name.symbol)), name.bytes) << name.facts;
}

TEST(KernelName, OfTheFailingFinalizeKernelIsOverBy1024Bytes) {
  const KernelName name = decode_kernel_name(symbol_with("fusion=ScaledAccPerColBiasPerRowScaleScatter finalize"));
  ASSERT_TRUE(name.cutlass);
  const auto kernel = cutlass_storage(*name.cutlass);
  ASSERT_TRUE(kernel) << kernel.error().message();
  EXPECT_EQ(kernel->total, 102400);
  EXPECT_EQ(kernel->over_bytes(), 1024);
}

TEST(KernelName, IsReadThoughItIsLongerThanTheUsualDemanglersTake) {
  const std::string symbol = symbol_with("cutlass_gemm sm_120 grouped");
  ASSERT_GT(symbol.size(), 1024U);
  EXPECT_EQ(decode_kernel_name(symbol).family, KernelFamily::cutlass_gemm);
}

TEST(KernelName, SaysWhyTheSharedMemoryOfAKernelIsNotKnown) {
  const KernelName name = decode_kernel_name(symbol_with("fusion=Sm90TreeVisitor"));
  ASSERT_TRUE(name.cutlass);
  const auto kernel = cutlass_storage(*name.cutlass);
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().code, ErrorCode::unsupported);
  EXPECT_NE(kernel.error().cause.find("Sm90TreeVisitor"), std::string::npos) << kernel.error().cause;
}

// A type that the builders would not make was changed by hand; its bytes follow no rule that is known.
TEST(KernelName, WhoseEpilogueIsNotTheBuildersHasNoKnownSharedMemory) {
  std::string symbol =
      symbol_with("tile=128x128x128 cluster=1x1 policy=MainloopSm120ArrayTmaWarpSpecializedBlockScaled");
  const std::string three_stages_of_c = "Sm90PtrArrayTmaWarpSpecializedILi3E";
  const std::size_t at = symbol.find(three_stages_of_c);
  ASSERT_NE(at, std::string::npos) << symbol;
  symbol[at + three_stages_of_c.size() - 2] = '7';
  const KernelName name = decode_kernel_name(symbol);
  ASSERT_TRUE(name.cutlass);
  EXPECT_EQ(name.cutlass->stages_c, 7);
  const auto kernel = cutlass_storage(*name.cutlass);
  ASSERT_FALSE(kernel);
  EXPECT_NE(kernel.error().cause.find("epilogue stages 7/2"), std::string::npos) << kernel.error().cause;
}

TEST(KernelName, OfOtherKernelsIsTheFunctionWithoutParameters) {
  EXPECT_EQ(decode_kernel_name("_ZN2ns4copyIfLi4ELb1EEEvPT_PKS1_").text, "ns::copy<float, 4, true>");
  EXPECT_EQ(decode_kernel_name("_Z6kernelPKfi").text, "kernel");
  EXPECT_EQ(decode_kernel_name("_ZN1aIJiPKcEE1fEv").text, "a<int, char const*>::f");
  EXPECT_EQ(decode_kernel_name("fmha_v2_sm90").text, "fmha_v2_sm90");
  EXPECT_EQ(decode_kernel_name("_ZN1aIJiPKcEE1fEv").family, KernelFamily::other);
}

TEST(KernelName, IsShortenedWhereItIsLong) {
  const KernelName name = decode_kernel_name("_Z" + std::to_string(3000) + std::string(3000, 'k') + "v");
  EXPECT_LE(name.text.size(), kKernelTextLimit + 3);
  EXPECT_EQ(name.text.substr(name.text.size() - 3), "...");
}

TEST(KernelName, NeverPutsControlCharactersOnATerminal) {
  EXPECT_EQ(decode_kernel_name("a\x1b[31mb\n").text, "a?[31mb?");
  EXPECT_EQ(decode_kernel_name(std::string("_Z3a\x1b"
                                           "bv"))
                .text.find('\x1b'),
            std::string::npos);
}

TEST(KernelName, NeverPutsControlCharactersIntoAMessage) {
  const KernelName name = decode_kernel_name(
      "cutlass3x_sm120_bstensorop_gemm_ue8m0xe4m3_ue8m0xe4m3_f32_void_b\n16_128x128x128_1x1x1_0_tnt_align16");
  ASSERT_TRUE(name.cutlass);
  ASSERT_FALSE(name.cutlass->request);
  EXPECT_NE(name.cutlass->request.error().message().find("b?16"), std::string::npos);
}

TEST(KernelName, ThatIsCutShortIsItsOwnTextWithTheReason) {
  const std::string symbol = symbol_with("cutlass_gemm sm_120 grouped");
  const KernelName name = decode_kernel_name(symbol.substr(0, symbol.size() / 2));
  EXPECT_EQ(name.family, KernelFamily::other);
  EXPECT_EQ(name.text.substr(0, 2), "_Z");
  EXPECT_FALSE(name.note.empty());
}

TEST(KernelName, OfDeepNestingIsReadOrRefusedAndNeverOverflowsTheStack) {
  // Grammar that nests at every character or two, as long as a name may be and longer.
  for (const std::string open : {"P", "F", "1aI", "N", "XngX", "Dp", "M", "A1_", "LZ", "Dv1_", "S_I", "U1aI"}) {
    for (const std::size_t length : {std::size_t{1000}, inspect::kMaxMangled - 8, 2 * inspect::kMaxMangled}) {
      std::string symbol = "_Z1aI";
      while (symbol.size() < length) symbol += open;
      EXPECT_EQ(decode_kernel_name(symbol).family, KernelFamily::other) << open << ' ' << length;
    }
  }
}

// Each part is twice the one before it: as text it would be longer than memory.
TEST(KernelName, ThatDoublesAtEachReferenceIsReadAsOftenAsItIsWritten) {
  std::string symbol = "_Z1fI1aIiiE";
  const std::string digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (std::size_t i = 0; i < 36; ++i) {
    const std::string last = i == 0 ? std::string("S_") : std::string("S") + digits[i - 1] + "_";
    symbol += "S_I" + last + last + "E";
  }
  symbol += "Evv";
  const auto start = std::chrono::steady_clock::now();
  const KernelName name = decode_kernel_name(symbol);
  EXPECT_LE(name.text.size(), kKernelTextLimit + 3);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

// The parser of libiberty takes each of these arguments twice: 2^100 times in all.
TEST(KernelName, ThatWouldBeParsedForEverIsRefused) {
  std::string symbol = "_ZN1acv";
  for (int i = 0; i < 100; ++i) symbol += "T_I";
  const KernelName name = decode_kernel_name(symbol);
  EXPECT_NE(name.note.find("conversion"), std::string::npos) << name.note;
}

TEST(KernelName, OfAnyBytesIsReadOrRefused) {
  const auto names = real_names();
  EXPECT_TRUE(rc::check([&] {
    std::string symbol = names[*rc::gen::inRange<std::size_t>(0, names.size())].symbol;
    const auto changes = *rc::gen::inRange(1, 12);
    for (int i = 0; i < changes && !symbol.empty(); ++i) {
      const auto at = *rc::gen::inRange<std::size_t>(0, symbol.size());
      if (*rc::gen::arbitrary<bool>()) {
        symbol[at] = *rc::gen::arbitrary<char>();
      } else {
        symbol.erase(at, *rc::gen::inRange<std::size_t>(1, 40));
      }
    }
    const KernelName name = decode_kernel_name(symbol);
    if (name.cutlass) static_cast<void>(cutlass_storage(*name.cutlass));
    RC_ASSERT(name.text.size() <= kKernelTextLimit + 3);
  }));
}

}  // namespace
}  // namespace tilewright
