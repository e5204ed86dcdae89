// What FlashInfer's MoE launcher asks for (fb28d72): its defaults, and the names of its candidates.
#include <gtest/gtest.h>

#include "schedule/cutlass/flashinfer.hpp"
#include "schedule/cutlass/tags.hpp"

namespace tilewright {
namespace {

using schedule::cutlass::tag_name;

CutlassRequest grouped_request(Arch arch, const CutlassTile& tile) {
  CutlassRequest request;
  request.arch = arch;
  request.grouped = true;
  request.tile = tile;
  return request;
}

TEST(FlashInferDefaults, AreAutoWithDsTypeForCOnSm120) {
  for (const Arch arch : {Arch::sm_120, Arch::sm_121}) {
    CutlassRequest request = grouped_request(arch, {128, 128, 128});
    request.d = CutlassElement::f16;
    fill_as_flashinfer(request, {});
    EXPECT_EQ(request.c, CutlassElement::f16);
    EXPECT_EQ(tag_name(request.schedule), "KernelScheduleAuto");
    EXPECT_EQ(tag_name(request.epilogue_schedule), "TmaWarpSpecialized");
    EXPECT_FALSE(request.epilogue_tile_m);
  }
}

TEST(FlashInferDefaults, AreExplicitOneOrTwoSmWithVoidCOnSm100) {
  CutlassRequest request = grouped_request(Arch::sm_100, {128, 128, 256});
  fill_as_flashinfer(request, {});
  EXPECT_EQ(request.c, CutlassElement::none);
  EXPECT_EQ(tag_name(request.schedule), "KernelPtrArrayTmaWarpSpecialized1SmNvf4Sm100");
  EXPECT_EQ(tag_name(request.epilogue_schedule), "PtrArrayTmaWarpSpecialized1Sm");

  request = grouped_request(Arch::sm_100, {256, 256, 256});
  fill_as_flashinfer(request, {});
  EXPECT_EQ(request.cluster_m, 2);
  EXPECT_EQ(tag_name(request.schedule), "KernelPtrArrayTmaWarpSpecialized2SmNvf4Sm100");
  EXPECT_EQ(tag_name(request.epilogue_schedule), "PtrArrayTmaWarpSpecialized2Sm");
  // EpilogueSubTile, of FP4 with N = 256 on SM100 alone.
  EXPECT_EQ(request.epilogue_tile_m, 128);
  EXPECT_EQ(request.epilogue_tile_n, 64);
}

TEST(FlashInferDefaults, NameTheUltraTagsOnSm103AndTheMixedOnesWhereTypesDiffer) {
  CutlassRequest request = grouped_request(Arch::sm_103, {128, 256, 768});
  fill_as_flashinfer(request, {});
  EXPECT_EQ(tag_name(request.schedule), "KernelPtrArrayTmaWarpSpecialized1SmBlockScaledMxNvf4UltraVs16Sm103");
  EXPECT_FALSE(request.epilogue_tile_m);

  request = grouped_request(Arch::sm_100, {128, 256, 128});
  request.a = CutlassOperand::mxfp8;
  request.b = CutlassOperand::mxfp4;
  fill_as_flashinfer(request, {});
  EXPECT_EQ(tag_name(request.schedule), "KernelPtrArrayTmaWarpSpecialized1SmMxf8f6f4Sm100");
}

TEST(FlashInferDefaults, AreCooperativeOnSm90WithFastAccumulationForFp8) {
  CutlassRequest request = grouped_request(Arch::sm_90, {128, 128, 64});
  request.a = request.b = CutlassOperand::bf16;
  fill_as_flashinfer(request, {});
  EXPECT_EQ(request.c, CutlassElement::none);
  EXPECT_EQ(tag_name(request.schedule), "KernelPtrArrayTmaWarpSpecializedCooperative");
  EXPECT_EQ(tag_name(request.epilogue_schedule), "PtrArrayTmaWarpSpecializedCooperative");

  request.a = request.b = CutlassOperand::fp8;
  fill_as_flashinfer(request, {});
  EXPECT_EQ(tag_name(request.schedule), "KernelPtrArrayTmaWarpSpecializedCooperativeFP8FastAccum");
}

TEST(FlashInferDefaults, TakeCFromExample79dWhereDHasScaleFactors) {
  CutlassRequest request = grouped_request(Arch::sm_120, {128, 128, 128});
  request.fusion = CutlassFusion::scale_factor_d;
  request.d = CutlassElement::e2m1;
  fill_as_flashinfer(request, {});
  EXPECT_EQ(request.c, CutlassElement::f16);
}

TEST(FlashInferDefaults, KeepWhatWasStated) {
  CutlassRequest request = grouped_request(Arch::sm_120, {128, 256, 128});
  request.c = CutlassElement::none;
  request.schedule = schedule::cutlass::launcher_schedule(request, CutlassWarps::pingpong);
  CutlassOpen open;
  open.c = false;
  open.schedule = false;
  const auto filled = fill_as_flashinfer(request, open);
  EXPECT_EQ(request.c, CutlassElement::none);
  EXPECT_EQ(tag_name(request.schedule), "KernelPtrArrayTmaWarpSpecializedPingpong");
  ASSERT_EQ(filled.size(), 1U);
  EXPECT_EQ(filled[0].what, "epilogue schedule");
}

struct Listed {
  const char* what;
  Arch arch;
  CutlassTile tile;
  int cluster_m;
  const char* name;  // null: no list has it
  bool dispatched;
};

void PrintTo(const Listed& listed, std::ostream* out) { *out << listed.what; }

class FlashInferCandidates : public ::testing::TestWithParam<Listed> {};

TEST_P(FlashInferCandidates, AreNamedByOneCtaWithKInBytes) {
  const Listed& listed = GetParam();
  CutlassRequest request = grouped_request(listed.arch, listed.tile);
  request.cluster_m = listed.cluster_m;
  if (listed.arch == Arch::sm_90) request.a = request.b = CutlassOperand::bf16;
  CutlassOpen open;
  open.cluster = false;
  fill_as_flashinfer(request, open);
  const auto candidate = flashinfer_candidate(request);
  ASSERT_EQ(candidate.has_value(), listed.name != nullptr) << (candidate ? candidate->name : "none");
  if (!candidate) return;
  EXPECT_EQ(candidate->name, listed.name);
  EXPECT_EQ(candidate->dispatched, listed.dispatched);
}

INSTANTIATE_TEST_SUITE_P(
    All, FlashInferCandidates,
    ::testing::Values(Listed{"the tile of the report", Arch::sm_120, {128, 256, 128}, 1, "CtaShape128x256x64B", true},
                      Listed{"a tile without a case", Arch::sm_120, {256, 128, 256}, 1, "CtaShape256x128x128B", false},
                      Listed{"another without a case", Arch::sm_121, {128, 128, 512}, 1, "CtaShape128x128x256B", false},
                      Listed{"a small tile", Arch::sm_121, {128, 32, 256}, 1, "CtaShape128x32x128B", true},
                      Listed{"a tile that nobody lists", Arch::sm_120, {128, 16, 128}, 1, nullptr, false},
                      Listed{"two SMs", Arch::sm_100, {256, 128, 256}, 2, "CtaShape128x128x128B", true},
                      Listed{"ultra", Arch::sm_103, {128, 256, 768}, 1, "CtaShape128x256x128B", true},
                      Listed{"SM100's alone", Arch::sm_103, {128, 64, 768}, 1, nullptr, false},
                      Listed{"Hopper", Arch::sm_90, {256, 128, 64}, 1, "CtaShape256x128x128B", true}));

TEST(FlashInferCandidates, SayFusionAndSwap) {
  CutlassRequest request = grouped_request(Arch::sm_120, {256, 128, 128});
  request.fusion = CutlassFusion::finalize;
  request.swap_ab = true;
  const auto candidate = flashinfer_candidate(request);
  ASSERT_TRUE(candidate);
  EXPECT_EQ(candidate->variant, "FINALIZE swap_ab");
  EXPECT_EQ(candidate->list, "get_candidate_configs_sm120");
}

TEST(FlashInferCandidates, AreGroupedKernelsOnly) {
  CutlassRequest request = grouped_request(Arch::sm_120, {128, 256, 128});
  request.grouped = false;
  EXPECT_FALSE(flashinfer_candidate(request));
}

}  // namespace
}  // namespace tilewright
