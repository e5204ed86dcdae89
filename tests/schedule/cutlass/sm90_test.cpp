// What CUTLASS builds for SM90. Values without another source are compiled (tests/cutlass_oracle).
#include "schedule/cutlass/datacenter_kernels.hpp"

namespace tilewright::cutlass_tests {
namespace {

constexpr CutlassTile kTile = {128, 128, 64};

CutlassRequest dense(CutlassTile tile, const std::string& schedule, const std::string& operand = "bf16",
                     const std::string& c = "bf16", const std::string& d = "bf16") {
  return request_of("sm90", "dense", operand, c, d, tile, "1", schedule);
}

CutlassRequest grouped(CutlassTile tile, const std::string& schedule, const std::string& operand = "bf16",
                       const std::string& c = "void", const std::string& d = "bf16") {
  return request_of("sm90", "grouped", operand, c, d, tile, "1", schedule);
}

TEST(CutlassSm90, AutoIsPingpongFor64RowsAndCooperativeForOthers) {
  const CutlassKernel narrow = resolved(dense({64, 128, 64}, "Auto|epi=Auto"));
  EXPECT_EQ(narrow.schedule, "KernelTmaWarpSpecializedPingpong");
  EXPECT_EQ(narrow.warps, CutlassWarps::pingpong);
  const CutlassKernel wide = resolved(dense(kTile, "Auto|epi=Auto"));
  EXPECT_EQ(wide.schedule, "KernelTmaWarpSpecializedCooperative");
  EXPECT_EQ(wide.total, 229760);
}

TEST(CutlassSm90, AutoCannotBuildAGroupedKernel) {
  const CutlassRequest request = grouped(kTile, "Auto|epi=PtrArrayTmaWarpSpecializedCooperative");
  EXPECT_EQ(assertion(request), "ProblemShape{} should be <M,N,K> or <M,N,K,L>");
  EXPECT_EQ(resolved(request).error->rule, "grouped_needs_ptr_array");
  EXPECT_TRUE(resolved(grouped(kTile, "PtrArrayCooperative|epi=PtrArrayTmaWarpSpecializedCooperative")).builds());
}

TEST(CutlassSm90, ADenseEpilogueCannotStoreGroups) {
  EXPECT_EQ(assertion(grouped(kTile, "PtrArrayCooperative|epi=Auto")), "StrideCD must be rank-3: [M, N, L]");
  EXPECT_EQ(assertion(grouped(kTile, "PtrArrayCooperative|epi=TmaWarpSpecializedCooperative")),
            "StrideC must be rank-3: [M, N, L]");
}

TEST(CutlassSm90, AnAutomaticEpilogueTakesNoSharedMemory) {
  const CutlassKernel kernel = resolved(dense(kTile, "Auto|epi=Auto"));
  EXPECT_EQ(kernel.epilogue_bytes, 1);
  EXPECT_EQ(kernel.epilogue_tile_m, 0);
  EXPECT_EQ(kernel.stages_c, -1);
  EXPECT_EQ(resolution(kernel, "epilogue schedule"), "NoSmemWarpSpecialized");
}

TEST(CutlassSm90, ACooperativeTileOf64RowsHasTypesButNoKernel) {
  const CutlassKernel kernel = resolved(dense({64, 128, 64}, "Cooperative|epi=TmaWarpSpecializedCooperative"));
  ASSERT_FALSE(kernel.builds());
  EXPECT_TRUE(kernel.error->in_kernel_body);
  EXPECT_EQ(kernel.error->rule, "tile_m");
  EXPECT_EQ(kernel.total, 214016);
}

TEST(CutlassSm90, AnEpilogueOfOtherWarpsFailsInTheKernelsBodyWhereItsTilesAreSmallerThanTheMmas) {
  const CutlassKernel smaller = resolved(dense(kTile, "Cooperative|epi=TmaWarpSpecialized"));
  ASSERT_FALSE(smaller.builds());
  EXPECT_TRUE(smaller.error->in_kernel_body);
  EXPECT_EQ(smaller.error->message, "MMA_TILE_M must divide EPI_TILE_M");
  const CutlassKernel larger = resolved(dense(kTile, "Pingpong|epi=TmaWarpSpecializedCooperative"));
  EXPECT_TRUE(larger.builds());
  EXPECT_EQ(larger.total, 230400);
  EXPECT_EQ(assertion(grouped({64, 128, 64}, "PtrArrayPingpong|epi=PtrArrayTmaWarpSpecialized")),
            "Tiled MmA does not match expected warp groups performing the epilogue");
}

TEST(CutlassSm90, Fp8WithoutFastAccumulationHasItsOwnMainloop) {
  const CutlassTile tile = {128, 128, 128};
  EXPECT_EQ(resolved(dense(tile, "Auto|epi=Auto", "fp8")).policy,
            "MainloopSm90TmaGmmaWarpSpecializedFP8<7,tuple<C<1>,C<1>,C<1>>,KernelTmaWarpSpecializedCooperative>");
  EXPECT_EQ(resolved(dense(tile, "CooperativeFP8FastAccum|epi=Auto", "fp8")).policy,
            "MainloopSm90TmaGmmaWarpSpecialized<7,tuple<C<1>,C<1>,C<1>>,"
            "KernelTmaWarpSpecializedCooperativeFP8FastAccum>");
  EXPECT_EQ(assertion(dense(kTile, "CooperativeFP8FastAccum|epi=Auto")),
            "Only FP8 datatypes are compatible with these kernel schedules");
}

TEST(CutlassSm90, BlockScaledOperandsHaveNoBuilder) {
  for (const char* operand : {"nvfp4", "mxfp4", "mxfp8"}) {
    const CutlassKernel kernel = resolved(dense({128, 128, 128}, "Auto|epi=Auto", operand));
    ASSERT_FALSE(kernel.builds()) << operand;
    EXPECT_EQ(kernel.error->rule, "no_builder");
  }
}

TEST(CutlassSm90, AnEpilogueTileMustBeTheWarpsAndDivideTheTile) {
  const auto tile = [](const std::string& epilogue_tile) {
    return assertion(dense(kTile, "Cooperative|epi=TmaWarpSpecializedCooperative|epiTile=" + epilogue_tile));
  };
  EXPECT_EQ(tile("64x32"), "Unsupported tile shape");
  EXPECT_EQ(tile("128x24"), "Unsupported tile shape");
  EXPECT_EQ(tile("128x48"), "Divisibility Condition");
  EXPECT_EQ(tile("128x64"), "");
  EXPECT_EQ(assertion(dense({64, 128, 64}, "Cooperative|epi=TmaWarpSpecializedCooperative|epiTile=128x32")),
            "EPI_TILE_M must divide CTA_M");
}

TEST(CutlassSm90, TheTileMustBeOfWholeMmas) {
  EXPECT_EQ(assertion(dense({32, 128, 64}, "Pingpong|epi=TmaWarpSpecialized")), "Tile_M must be a multiple of 64.");
  EXPECT_EQ(assertion(dense({128, 100, 64}, "Cooperative|epi=Auto")), "Tile_N must be a multiple of 8.");
  EXPECT_EQ(assertion(dense({128, 128, 24}, "Cooperative|epi=Auto")), "Tile_K must be a multiple of 16.");
  EXPECT_EQ(assertion(dense({256, 256, 256}, "Cooperative|epi=TmaWarpSpecializedCooperative", "bf16", "f32", "f32")),
            "Specialization requires Stages set to value 2 or more.");
}

// sm90_gemm_tma_warpspecialized.hpp: a union, since the kernel does one tile and ends.
TEST(CutlassSm90, AKernelOfOneTileLaysTheEpilogueOverTheMainloop) {
  const CutlassKernel kernel = resolved(dense(kTile, "TmaWarpSpecialized|epi=TmaWarpSpecialized"));
  EXPECT_EQ(member(kernel, "tensors.epilogue.smem_C_and_D"), nullptr);
  EXPECT_LT(kernel.total, kernel.mainloop_bytes + kernel.epilogue_bytes);
  EXPECT_EQ(bytes_of_member(kernel, "tensors.mainloop.smem_A"), kernel.stages * 128 * 64 * 2);
  EXPECT_EQ(resolved(dense(kTile, "TmaWarpSpecialized|epi=TmaWarpSpecializedCooperative")).total, 197120);
}

TEST(CutlassSm90, FinalizeKeepsARowBesideTheTiles) {
  const CutlassKernel kernel = resolved(grouped(
      kTile, "PtrArrayCooperative|epi=PtrArrayTmaWarpSpecializedCooperative|fusion=FINALIZE", "bf16", "void", "void"));
  EXPECT_EQ(bytes_of_member(kernel, "tensors.epilogue.bias_row"), 128 * 2);
  EXPECT_EQ(kernel.total, 215040);
  // A void D takes nobody's buffers: C and D both have theirs.
  const CutlassKernel with_c =
      resolved(grouped({128, 32, 64}, "PtrArrayCooperative|epi=PtrArrayTmaWarpSpecializedCooperative|fusion=FINALIZE",
                       "bf16", "bf16", "void"));
  EXPECT_EQ(with_c.stages_c, 2);
  EXPECT_EQ(bytes_of_member(with_c, "tensors.epilogue.smem_C"), 2 * 8192);
  EXPECT_EQ(bytes_of_member(with_c, "tensors.epilogue.smem_D"), 8192);
  EXPECT_EQ(with_c.total, 231424);
}

TEST(CutlassSm90, TheBuilderForgetsTheResponsesOfAGroupedKernelsScheduler) {
  const CutlassKernel kernel =
      resolved(grouped(kTile, "PtrArrayCooperative|epi=PtrArrayTmaWarpSpecializedCooperative"));
  EXPECT_EQ(bytes_of_member(kernel, "scheduler_response"), 128);
  EXPECT_EQ(reserved_for(kernel, "scheduler_response"), 0);
  EXPECT_EQ(reserved_for(kernel, "pipelines.scheduler"), 128);
  EXPECT_EQ(reserved_for(kernel, "tensormaps.mainloop"), 256);
  EXPECT_LE(kernel.reserved_bytes, kernel.limit);
}

TEST(CutlassSm90, StepsNameTheRuleAndTheFile) {
  const CutlassKernel kernel = resolved(dense(kTile, "Auto|epi=TmaWarpSpecializedCooperative"));
  const CutlassStep* stages = step(kernel, "stages");
  ASSERT_NE(stages, nullptr);
  EXPECT_EQ(stages->requested, "StageCountAutoCarveout<33792>");
  EXPECT_EQ(stages->resolved, "6");
  EXPECT_EQ(stages->rule, "(232448 - 0 for the kernel, down to 232448 - 33792 carved out) / 32784 a stage");
  EXPECT_EQ(stages->file, "gemm/collective/builders/sm90_gmma_builder.inl");
  EXPECT_EQ(resolution(kernel, "epilogue tile"), "128x32");
}

TEST(CutlassSm90, WhatWasNotCompiledIsUnsupported) {
  CutlassRequest mixed = dense(kTile, "Cooperative|epi=Auto");
  mixed.b = CutlassOperand::fp8;
  expect_unsupported(mixed);
  expect_unsupported(dense({192, 128, 64}, "Pingpong|epi=TmaWarpSpecialized"));
  expect_unsupported(dense({128, 512, 64}, "Cooperative|epi=Auto"));
  expect_unsupported(dense(kTile, "PtrArrayCooperative|epi=Auto"));
  expect_unsupported(
      dense(kTile, "Cooperative|epi=TmaWarpSpecializedCooperative|fusion=FINALIZE", "bf16", "void", "void"));
}

}  // namespace
}  // namespace tilewright::cutlass_tests
