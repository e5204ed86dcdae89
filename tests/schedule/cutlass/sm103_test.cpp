// What CUTLASS builds for SM103. Values without another source are compiled (tests/cutlass_oracle).
#include "schedule/cutlass/datacenter_kernels.hpp"

namespace tilewright::cutlass_tests {
namespace {

CutlassRequest dense(CutlassTile tile, const std::string& cluster, const std::string& schedule,
                     const std::string& operand = "nvfp4", const std::string& c = "bf16",
                     const std::string& d = "bf16") {
  return request_of("sm103", "dense", operand, c, d, tile, cluster, schedule);
}

CutlassRequest grouped(CutlassTile tile, const std::string& cluster, const std::string& schedule,
                       const std::string& c = "void") {
  return request_of("sm103", "grouped", "nvfp4", c, "bf16", tile, cluster, schedule);
}

void expect_kernel(const CutlassRequest& request, int stages, int scale_stages, std::int64_t total) {
  const CutlassKernel kernel = resolved(request);
  EXPECT_TRUE(kernel.builds()) << kernel.error->message;
  EXPECT_EQ(kernel.stages, stages);
  EXPECT_EQ(kernel.scale_stages, scale_stages);
  EXPECT_EQ(kernel.total, total);
}

TEST(CutlassSm103, TheClosestKernelFillsTheLimitToTheByte) {
  const CutlassKernel kernel =
      resolved(grouped({256, 256, 768}, "2", "PtrArray2SmUltraVs16|epi=PtrArrayTmaWarpSpecialized2Sm"));
  EXPECT_EQ(kernel.total, 232448);
  EXPECT_EQ(kernel.total, kernel.limit);
  EXPECT_TRUE(kernel.fits());
  EXPECT_EQ(kernel.over_bytes(), 0);
  EXPECT_EQ(kernel.stages, 4);
  EXPECT_EQ(kernel.scale_stages, 7);
}

TEST(CutlassSm103, ScalesHaveAPipelineOfTheirOwn) {
  expect_kernel(grouped({128, 128, 768}, "1", "PtrArray1SmUltraVs16|epi=PtrArrayNoSmemWarpSpecialized1Sm"), 6, 11,
                231680);
  expect_kernel(grouped({256, 128, 768}, "2", "PtrArray2SmUltraVs16|epi=PtrArrayNoSmemWarpSpecialized2Sm"), 8, 11,
                231680);
  expect_kernel(grouped({256, 256, 768}, "2", "PtrArray2SmUltraVs16|epi=PtrArrayNoSmemWarpSpecialized2Sm"), 6, 7,
                230016);
  expect_kernel(grouped({128, 128, 768}, "1", "PtrArray1SmUltraVs16|epi=PtrArrayTmaWarpSpecialized1Sm"), 5, 16, 231424);
}

TEST(CutlassSm103, AKernelWithoutAStageOfOperandsStillBuilds) {
  const CutlassKernel kernel =
      resolved(dense({128, 256, 768}, "1", "1SmUltraVs16|epi=TmaWarpSpecialized1Sm", "nvfp4", "f32", "f32"));
  EXPECT_TRUE(kernel.builds());
  EXPECT_EQ(kernel.stages, 0);
  EXPECT_EQ(kernel.scale_stages, 7);
  EXPECT_EQ(kernel.mainloop_bytes, 32384);
  EXPECT_EQ(kernel.total, 231424);
}

TEST(CutlassSm103, AutoTakesTwoSmsInAnEvenStaticCluster) {
  const auto warps = [](CutlassTile tile, const std::string& cluster) {
    return resolved(dense(tile, cluster, "Auto|epi=Auto", "mxfp4")).warps;
  };
  EXPECT_EQ(warps({128, 128, 768}, "1"), CutlassWarps::one_sm);
  EXPECT_EQ(warps({128, 128, 768}, "dyn"), CutlassWarps::one_sm);
  EXPECT_EQ(warps({256, 128, 768}, "2"), CutlassWarps::two_sm);
}

TEST(CutlassSm103, AutoTakesNvfp4sScalesForVectorsOf32) {
  const CutlassKernel kernel = resolved(dense({128, 128, 768}, "1", "Auto|epi=Auto"));
  ASSERT_FALSE(kernel.builds());
  EXPECT_EQ(kernel.error->rule, "vector_size");
  EXPECT_EQ(resolved(dense({128, 128, 768}, "1", "1SmUltraVs32|epi=Auto")).error->rule, "vector_size");
  EXPECT_TRUE(resolved(dense({128, 128, 768}, "1", "Auto|epi=Auto", "mxfp4")).builds());
  EXPECT_TRUE(resolved(dense({128, 128, 768}, "1", "1SmUltraVs16|epi=Auto")).builds());
}

TEST(CutlassSm103, AutoCannotBuildAGroupedKernel) {
  EXPECT_EQ(assertion(grouped({128, 128, 768}, "1", "1SmUltraVs16|epi=PtrArrayTmaWarpSpecialized1Sm")),
            "Expected layout args... in make_tensor(iter, args...)");
}

TEST(CutlassSm103, OnlyFp4With768InKHasABuilder) {
  const std::string none = "Could not build a collective for given parameters.";
  EXPECT_EQ(assertion(dense({128, 128, 128}, "1", "Auto|epi=Auto", "fp8")), none);
  EXPECT_EQ(assertion(dense({128, 128, 64}, "1", "Auto|epi=Auto", "bf16")), none);
  EXPECT_EQ(assertion(dense({128, 128, 768}, "1", "1SmUltraVs32|epi=Auto", "mxfp8")), none);
  EXPECT_EQ(assertion(dense({128, 128, 256}, "1", "1SmNvf4|epi=Auto")), none);
  EXPECT_EQ(assertion(dense({128, 128, 256}, "1", "1SmUltraVs16|epi=NoSmemWarpSpecialized1Sm")),
            "TileShape_K should 768 for MMA kernels");
}

TEST(CutlassSm103, EachCtaTakes128RowsAnd128Columns) {
  EXPECT_EQ(assertion(dense({64, 128, 768}, "1", "1SmUltraVs16|epi=Auto")), "Invalid TileShape_M.");
  EXPECT_EQ(assertion(dense({128, 64, 768}, "1", "1SmUltraVs16|epi=Auto")), "Cta N should be one of 128/192/256");
  EXPECT_EQ(assertion(dense({256, 128, 768}, "1", "1SmUltraVs16|epi=TmaWarpSpecialized1Sm")),
            "MMA M-mode size should be 128 for 1 CTA cluster MMA.");
  EXPECT_EQ(assertion(dense({128, 128, 768}, "2", "2SmUltraVs16|epi=TmaWarpSpecialized2Sm")),
            "TMA requires CTA_Tile and SLayout top-level size equivalence.");
  EXPECT_EQ(assertion(dense({64, 256, 768}, "2", "2SmUltraVs16|epi=NoSmemWarpSpecialized2Sm")),
            "Unsupported tmem datapath count");
}

TEST(CutlassSm103, OneStageCountDoesNotNameTwoKindsOfStages) {
  EXPECT_EQ(assertion(dense({128, 128, 768}, "1", "1SmUltraVs16|stages=StageCount<3>|epi=Auto")), "Index out of range");
  EXPECT_EQ(assertion(dense({128, 64, 768}, "1", "1SmUltraVs16|stages=StageCount<3>|epi=NoSmemWarpSpecialized1Sm")),
            "Index out of range");
}

TEST(CutlassSm103, ThePolicyNamesThePrefetch) {
  const auto policy = [](const CutlassRequest& request) { return resolved(request).policy; };
  const std::string by_tma = "(cutlass::sm103::detail::KernelPrefetchType)0";
  const std::string none = "(cutlass::sm103::detail::KernelPrefetchType)1";
  const CutlassTile tile = {128, 128, 768};
  EXPECT_NE(policy(dense(tile, "1", "1SmUltraVs16|epi=Auto")).find(by_tma), std::string::npos);
  EXPECT_NE(policy(dense(tile, "1", "1SmUltraVs16TmaPrefetch|epi=Auto")).find(by_tma), std::string::npos);
  EXPECT_NE(policy(dense(tile, "1", "1SmUltraVs16DisablePrefetch|epi=Auto")).find(none), std::string::npos);
  const std::string epilogue = "|epi=PtrArrayTmaWarpSpecialized1Sm";
  EXPECT_NE(policy(grouped(tile, "1", "PtrArray1SmUltraVs16" + epilogue)).find(none), std::string::npos);
  EXPECT_NE(policy(grouped(tile, "1", "PtrArray1SmUltraVs16TmaPrefetch" + epilogue)).find(by_tma), std::string::npos);
}

// sm100_smem_selector: Layout_MN_SW128_32B_Atom swizzles 64 B.
TEST(CutlassSm103, ColumnMajorTilesOf32BitsAreAlignedTo512Bytes) {
  const CutlassKernel kernel = resolved(request_of("sm103", "grouped", "nvfp4", "void", "f32", {256, 192, 768}, "2",
                                                   "PtrArray2SmUltraVs16|epi=PtrArrayTmaWarpSpecialized2Sm|swapAB"));
  EXPECT_EQ(kernel.epilogue_bytes, 33280);
  EXPECT_EQ(kernel.total, 228864);
}

}  // namespace
}  // namespace tilewright::cutlass_tests
