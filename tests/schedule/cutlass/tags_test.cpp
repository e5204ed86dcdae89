// The names of schedule tags: as CUTLASS spells them, and back.
#include <gtest/gtest.h>

#include "schedule/cutlass/tags.hpp"

namespace tilewright::schedule::cutlass {
namespace {

struct NamedTag {
  CutlassSchedule tag;
  const char* name;
  const char* short_name;
};

using W = CutlassWarps;
using F = CutlassTagFamily;

// Names from CUTLASS include/cutlass/gemm/dispatch_policy.hpp.
const NamedTag kTags[] = {
    {{}, "KernelScheduleAuto", "Auto"},
    {{W::cooperative, F::none, true, {}, {}}, "KernelPtrArrayTmaWarpSpecializedCooperative", "PtrArrayCooperative"},
    {{W::pingpong, F::fp8_fast_accum, false, {}, {}},
     "KernelTmaWarpSpecializedPingpongFP8FastAccum",
     "PingpongFP8FastAccum"},
    {{W::one_sm, F::nvf4, true, Arch::sm_100, {}}, "KernelPtrArrayTmaWarpSpecialized1SmNvf4Sm100", "PtrArray1SmNvf4"},
    {{W::two_sm, F::none, false, Arch::sm_100, {}}, "KernelTmaWarpSpecialized2SmSm100", "2Sm"},
    {{W::two_sm, F::ultra_vs16, true, Arch::sm_103, {}},
     "KernelPtrArrayTmaWarpSpecialized2SmBlockScaledMxNvf4UltraVs16Sm103",
     "PtrArray2SmUltraVs16"},
    {{W::cooperative, F::nvf4, false, Arch::sm_120, {}}, "KernelTmaWarpSpecializedNvf4Sm120", "Nvf4Sm120"},
    {{W::pingpong, F::mxf8f6f4, false, Arch::sm_120, {}},
     "KernelTmaWarpSpecializedPingpongMxf8f6f4Sm120",
     "PingpongMxf8f6f4Sm120"},
    {{W::cooperative, F::none, true, Arch::sm_120, 2},
     "KernelPtrArrayTmaWarpSpecializedCooperativeSm120<2>",
     "PtrArrayCooperativeSm120<2>"},
};

TEST(CutlassTags, AreSpelledAsCutlassSpellsThemAndReadBack) {
  for (const NamedTag& each : kTags) {
    EXPECT_EQ(tag_name(each.tag), each.name);
    EXPECT_EQ(short_tag_name(each.tag), each.short_name);
    for (const std::string& text :
         {std::string(each.name), std::string(each.short_name), "cutlass::gemm::" + std::string(each.name)}) {
      const auto parsed = parse_schedule_tag(text);
      ASSERT_TRUE(parsed) << text << ": " << parsed.error().message();
      EXPECT_EQ(*parsed, each.tag) << text;
    }
  }
}

TEST(CutlassTags, NameEveryEpilogueSchedule) {
  using E = CutlassEpilogueWarps;
  const std::pair<CutlassEpilogueSchedule, const char*> tags[] = {
      {{}, "EpilogueScheduleAuto"},
      {{E::tma, false, 0}, "TmaWarpSpecialized"},
      {{E::tma, true, 2}, "PtrArrayTmaWarpSpecialized2Sm"},
      {{E::tma_cooperative, true, 0}, "PtrArrayTmaWarpSpecializedCooperative"},
      {{E::tma_pingpong, true, 0}, "PtrArrayTmaWarpSpecializedPingpong"},
      {{E::no_smem, true, 1}, "PtrArrayNoSmemWarpSpecialized1Sm"}};
  for (const auto& [tag, name] : tags) {
    EXPECT_EQ(tag_name(tag), name);
    const auto parsed = parse_epilogue_tag(name);
    ASSERT_TRUE(parsed) << name;
    EXPECT_EQ(*parsed, tag) << name;
  }
  EXPECT_EQ(parse_epilogue_tag("Auto").value(), CutlassEpilogueSchedule{});
}

TEST(CutlassTags, AnUnknownOneNamesTheNearest) {
  const auto parsed = parse_schedule_tag("KernelPtrArrayTmaWarpSpecialized2SmNvfp4Sm100");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(parsed.error().remedy.find("KernelPtrArrayTmaWarpSpecialized2SmNvf4Sm100"), std::string::npos)
      << parsed.error().remedy;
}

}  // namespace
}  // namespace tilewright::schedule::cutlass
