// What CUTLASS builds for SM100. Values without another source are compiled (tests/cutlass_oracle).
#include "schedule/cutlass/datacenter_kernels.hpp"

namespace tilewright::cutlass_tests {
namespace {

CutlassRequest dense(CutlassTile tile, const std::string& cluster, const std::string& schedule,
                     const std::string& operand = "nvfp4", const std::string& c = "bf16",
                     const std::string& d = "bf16") {
  return request_of("sm100", "dense", operand, c, d, tile, cluster, schedule);
}

CutlassRequest grouped(CutlassTile tile, const std::string& cluster, const std::string& schedule,
                       const std::string& operand = "nvfp4", const std::string& c = "bf16",
                       const std::string& d = "bf16") {
  return request_of("sm100", "grouped", operand, c, d, tile, cluster, schedule);
}

void expect_kernel(const CutlassRequest& request, CutlassWarps warps, int stages, std::int64_t total) {
  const CutlassKernel kernel = resolved(request);
  EXPECT_TRUE(kernel.builds()) << kernel.error->message;
  EXPECT_EQ(kernel.warps, warps);
  EXPECT_EQ(kernel.stages, stages);
  EXPECT_EQ(kernel.total, total);
}

TEST(CutlassSm100, AutoTakesTwoSmsForABlockScaledTileOf256RowsInAnEvenCluster) {
  expect_kernel(dense({128, 128, 256}, "1", "Auto|epi=Auto"), CutlassWarps::one_sm, 5, 218112);
  expect_kernel(dense({128, 128, 256}, "2", "Auto|epi=Auto"), CutlassWarps::one_sm, 5, 218112);
  expect_kernel(dense({256, 128, 256}, "2", "Auto|epi=Auto"), CutlassWarps::two_sm, 6, 205824);
  expect_kernel(dense({256, 256, 256}, "2", "Auto|epi=Auto"), CutlassWarps::two_sm, 3, 217088);
}

TEST(CutlassSm100, AutoTakesTwoSmsForAPlainTileOf128RowsToo) {
  EXPECT_EQ(resolved(dense({128, 128, 64}, "2", "Auto|epi=Auto", "bf16")).warps, CutlassWarps::two_sm);
  EXPECT_EQ(resolved(dense({128, 128, 64}, "2", "Auto|epi=Auto", "bf16")).stages, 13);
  EXPECT_EQ(resolved(dense({128, 128, 64}, "dyn", "Auto|epi=Auto", "bf16")).warps, CutlassWarps::one_sm);
  EXPECT_EQ(resolved(dense({64, 128, 64}, "2", "Auto|epi=Auto", "bf16")).warps, CutlassWarps::one_sm);
}

TEST(CutlassSm100, AutoCannotTellWhatADynamicClusterIs) {
  EXPECT_EQ(assertion(dense({256, 128, 256}, "dyn", "Auto|epi=Auto")),
            "If M=256, auto policy can't create 2sm kernels. Specify a 2SM policy");
  EXPECT_EQ(assertion(dense({256, 128, 64}, "dyn", "Auto|epi=Auto", "bf16")), "Invalid TileShape_M.");
  EXPECT_EQ(resolved(dense({128, 128, 256}, "dyn", "Auto|epi=Auto")).policy,
            "MainloopSm100TmaUmmaWarpSpecializedBlockScaled<5,2,2,tuple<int,int,C<1>>,cutlass::arch::Sm100>");
}

TEST(CutlassSm100, AutoCannotBuildAGroupedKernel) {
  const std::string message = "Expected layout args... in make_tensor(iter, args...)";
  const std::string epilogue = "|epi=PtrArrayTmaWarpSpecialized1Sm";
  EXPECT_EQ(assertion(grouped({128, 128, 256}, "1", "Auto" + epilogue)), message);
  EXPECT_EQ(assertion(grouped({128, 128, 256}, "1", "1SmNvf4" + epilogue)), message);
  EXPECT_EQ(assertion(grouped({128, 128, 64}, "1", "Auto" + epilogue, "bf16")), message);
  EXPECT_TRUE(resolved(grouped({128, 128, 256}, "1", "PtrArray1SmNvf4" + epilogue)).builds());
}

// reference: CUTLASS example 75, and FlashInfer's launcher.
TEST(CutlassSm100, GroupedKernelsOfTheLaunchersAreAsCompiled) {
  expect_kernel(
      grouped({128, 256, 256}, "dyn", "PtrArray1SmNvf4|epi=PtrArrayTmaWarpSpecialized1Sm|epiTile=128x64|example 75",
              "nvfp4", "f16", "f16"),
      CutlassWarps::one_sm, 2, 182272);
  expect_kernel(
      grouped({256, 256, 256}, "dyn", "PtrArray2SmNvf4|epi=PtrArrayTmaWarpSpecialized2Sm|epiTile=128x64|example 75",
              "nvfp4", "f16", "f16"),
      CutlassWarps::two_sm, 4, 227328);
  const auto flashinfer = [](CutlassTile tile, const std::string& sm, const std::string& rest) {
    return grouped(tile, sm == "2" ? "2" : "1",
                   "PtrArray" + sm + "SmNvf4|epi=PtrArrayTmaWarpSpecialized" + sm + "Sm" + rest, "nvfp4", "void",
                   "bf16");
  };
  expect_kernel(flashinfer({128, 64, 256}, "1", ""), CutlassWarps::one_sm, 7, 222720);
  expect_kernel(flashinfer({128, 128, 256}, "1", ""), CutlassWarps::one_sm, 5, 206336);
  expect_kernel(flashinfer({128, 256, 256}, "1", "|epiTile=128x64"), CutlassWarps::one_sm, 3, 204800);
  expect_kernel(flashinfer({256, 64, 256}, "2", ""), CutlassWarps::two_sm, 8, 218624);
  expect_kernel(flashinfer({256, 128, 256}, "2", ""), CutlassWarps::two_sm, 7, 222720);
  expect_kernel(flashinfer({256, 256, 256}, "2", "|epiTile=128x64"), CutlassWarps::two_sm, 4, 194560);
}

TEST(CutlassSm100, FinalizeKeepsARowBesideTheTiles) {
  const auto finalize = [](const std::string& c, const std::string& swap) {
    return resolved(grouped({128, 128, 256}, "1",
                            "PtrArray1SmNvf4|epi=PtrArrayTmaWarpSpecialized1Sm|fusion=FINALIZE" + swap, "nvfp4", c,
                            "void"));
  };
  EXPECT_EQ(finalize("void", "").total, 206336);
  EXPECT_EQ(bytes_of_member(finalize("void", ""), "tensors.epilogue.bias_row"), 256);
  EXPECT_EQ(finalize("bf16", "").total, 202240);
  EXPECT_EQ(finalize("bf16", "").epilogue_bytes, 49664);
}

TEST(CutlassSm100, TheMmasTileIsOfWholeInstructions) {
  const auto with = [](CutlassTile tile, const std::string& cluster, const std::string& schedule,
                       const std::string& operand) { return assertion(dense(tile, cluster, schedule, operand)); };
  EXPECT_EQ(with({256, 128, 256}, "1", "Auto|epi=Auto", "nvfp4"), "Invalid TileShape_M.");
  EXPECT_EQ(with({64, 128, 256}, "1", "Auto|epi=Auto", "nvfp4"), "Invalid TileShape_M.");
  EXPECT_EQ(with({64, 128, 256}, "2", "Auto|epi=Auto", "nvfp4"), "Unsupported M dimension for TileShape_MNK.");
  EXPECT_EQ(with({128, 96, 256}, "1", "Auto|epi=Auto", "nvfp4"), "Invalid TileShape_N.");
  EXPECT_EQ(with({128, 128, 64}, "1", "Auto|epi=Auto", "mxfp4"),
            "TMA requires CTA_Tile and SLayout top-level size equivalence.");
  EXPECT_EQ(with({128, 128, 192}, "1", "Auto|epi=Auto", "mxfp4"), "Shape Divisibility Condition");
  EXPECT_EQ(with({128, 128, 64}, "1", "Auto|epi=Auto", "nvfp4"), "");
  EXPECT_EQ(with({128, 128, 24}, "1", "1Sm|epi=TmaWarpSpecialized1Sm", "bf16"),
            "Static cluster shape used: TileShape should be evenly divided by TiledMma");
  EXPECT_EQ(with({256, 128, 256}, "1", "2SmNvf4|epi=Auto", "nvfp4"), "Cluster shape not divisible by MMA size");
  EXPECT_EQ(with({256, 128, 256}, "1", "2SmNvf4|epi=TmaWarpSpecialized2Sm", "nvfp4"), "schedule + cluster mismatch");
}

TEST(CutlassSm100, TheTagsFamilyMustBeTheOperands) {
  const auto with = [](const std::string& operand, const std::string& family) {
    const CutlassTile tile = {128, 128, operand == "mxfp8" ? 128 : 256};
    return assertion(dense(tile, "1", "1Sm" + family + "|epi=TmaWarpSpecialized1Sm", operand));
  };
  EXPECT_EQ(with("nvfp4", "Nvf4"), "");
  EXPECT_EQ(with("nvfp4", "BlockScaled"), "");
  EXPECT_EQ(with("nvfp4", "Mxf4"), "Kernel Schedule policy doesn't match the scale factor vector size.");
  EXPECT_EQ(with("mxfp4", "Nvf4"), "Kernel Schedule policy doesn't match the scale factor vector size.");
  EXPECT_EQ(with("mxfp8", "Mxf4"), "Incorrect Kernel Schedule Policy for Mx_F4F6F8 type inputs.");
  EXPECT_EQ(with("nvfp4", ""), "Could not build a collective for given parameters.");
  EXPECT_EQ(with("bf16", "Nvf4"), "Could not build a collective for given parameters.");
}

TEST(CutlassSm100, AutomaticEpiloguesTakeNoTileOfTheCallers) {
  EXPECT_EQ(assertion(dense({128, 128, 256}, "1", "Auto|epi=Auto|epiTile=128x64")),
            "Don't specify epilogue tile with auto schedule");
}

// sm100_get_epilogue_smem_swizzle_layout_atom: rows of 16 columns lie apart, and swizzle 32 B only.
TEST(CutlassSm100, TheEpilogueOfAPairOf128RowsHasNarrowRows) {
  const CutlassKernel kernel = resolved(dense({128, 128, 64}, "2", "1Sm|epi=Auto", "bf16"));
  EXPECT_EQ(kernel.epilogue_tile_m, 64);
  EXPECT_EQ(kernel.epilogue_tile_n, 32);
  EXPECT_EQ(kernel.epilogue_bytes, 4 * 64 * 32 * 2 + 256);
  EXPECT_EQ(kernel.total, 213760);
}

TEST(CutlassSm100, PairsOfUnevenColumnsAreRefusedSince4_7) {
  CutlassRequest request = dense({256, 160, 64}, "2", "2Sm|epi=TmaWarpSpecialized2Sm", "bf16");
  EXPECT_EQ(resolved(request).error->rule, "tile_n");
  request.version = CutlassVersion::v4_5_0;
  EXPECT_TRUE(resolved(request).builds());
}

// The types have their sizes all the same: nvcc stops at the assertion in the kernel's body.
TEST(CutlassSm100, AKernelThatDoesNotFitDoesNotCompile) {
  const CutlassKernel kernel =
      resolved(dense({128, 128, 256}, "1", "1SmNvf4|stages=StageCount<12>|epi=TmaWarpSpecialized1Sm"));
  ASSERT_FALSE(kernel.builds());
  EXPECT_TRUE(kernel.error->in_kernel_body);
  EXPECT_EQ(kernel.error->rule, "smem_capacity");
  EXPECT_EQ(kernel.error->message, "SMEM usage exceeded capacity.");
  EXPECT_FALSE(kernel.fits());
  EXPECT_GT(kernel.over_bytes(), 0);
  EXPECT_EQ(resolution(kernel, "capacity"), "does not compile");
  EXPECT_EQ(kernel.reserved_bytes, 0);
}

TEST(CutlassSm100, NoStageFitsAWholeTileOfGreatK) {
  EXPECT_EQ(assertion(dense({128, 128, 1024}, "1", "1Sm|epi=TmaWarpSpecialized1Sm", "bf16")),
            "Smem usage is too high. Can't create any SMEM buffers for A, and B.");
  EXPECT_EQ(assertion(dense({128, 128, 512}, "1", "1Sm|epi=TmaWarpSpecialized1Sm", "bf16")),
            "Smem usage is too high. Can't create any SMEM buffers for A, and B.");
}

TEST(CutlassSm100, GroupedKernelsHaveFiveSetsOfTensorMapsSince4_4) {
  CutlassRequest request = grouped({128, 128, 256}, "1", "PtrArray1SmNvf4|epi=PtrArrayTmaWarpSpecialized1Sm");
  const CutlassKernel head = resolved(request);
  EXPECT_EQ(head.total, 222720);
  EXPECT_EQ(bytes_of_member(head, "tensormaps[4].mainloop"), 512);
  EXPECT_EQ(reserved_for(head, "tensormaps[4].mainloop"), 512);
  EXPECT_EQ(reserved_for(head, "tensormaps[0].epilogue"), 256);
  EXPECT_EQ(reserved_for(head, "tensormaps[4].epilogue"), 0);  // the carve-out holds one set
  request.version = CutlassVersion::v4_2_1;
  const CutlassKernel old = resolved(request);
  EXPECT_EQ(member(old, "tensormaps[4].mainloop"), nullptr);
  EXPECT_EQ(bytes_of_member(old, "tensormaps.mainloop"), 512);
  EXPECT_EQ(old.policy.find("cutlass::arch"), std::string::npos);
}

TEST(CutlassSm100, WhatWasNotCompiledIsUnsupported) {
  CutlassRequest mixed = dense({128, 128, 256}, "1", "Auto|epi=Auto");
  mixed.b = CutlassOperand::mxfp4;
  expect_unsupported(mixed);
  expect_unsupported(dense({128, 128, 256}, "1", "PtrArray1SmNvf4|epi=Auto"));
  expect_unsupported(dense({64, 128, 64}, "1", "1Sm|epi=TmaWarpSpecialized1Sm|epiTile=128x32", "bf16"));
  expect_unsupported(dense({128, 128, 256}, "1", "Auto|epi=Auto|SFD", "nvfp4", "bf16", "e2m1"));
}

}  // namespace
}  // namespace tilewright::cutlass_tests
