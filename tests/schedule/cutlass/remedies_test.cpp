// What the oracle proposes for kernels that do not fit or do not build.
#include "schedule/cutlass/oracle_table.hpp"

namespace tilewright::cutlass_tests {
namespace {

std::vector<CutlassRemedy> remedies_of(const CutlassRequest& request) {
  const auto kernel = resolve_cutlass(request);
  EXPECT_TRUE(kernel) << kernel.error().message();
  if (!kernel) return {};
  const auto remedies = cutlass_remedies(*kernel);
  EXPECT_TRUE(remedies) << remedies.error().message();
  return remedies.value_or(std::vector<CutlassRemedy>());
}

struct Expected {
  const char* change;
  int stages;
  std::int64_t total;
};

void expect_remedies(const CutlassRequest& request, const std::vector<Expected>& expected) {
  const std::vector<CutlassRemedy> remedies = remedies_of(request);
  ASSERT_GE(remedies.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(remedies[i].change, expected[i].change);
    EXPECT_EQ(remedies[i].stages, expected[i].stages);
    EXPECT_EQ(remedies[i].total, expected[i].total);
    EXPECT_TRUE(remedies[i].fits);
    EXPECT_FALSE(remedies[i].cost.empty());
  }
}

// The bytes were compiled for all four (cutlass.md 3.3).
TEST(CutlassRemedies, OfTheFailingKernelAreThoseThatWereCompiledInOrderOfCost) {
  const std::vector<Expected> expected = {{"StageCount<2>", 2, 74752},
                                          {"ElementC = void", 3, 94208},
                                          {"EpilogueTile 64x16", 3, 94208},
                                          {"swap A and B", 2, 74752}};
  expect_remedies(grouped_nvfp4({128, 256, 128}, CutlassFusion::finalize), expected);
  expect_remedies(grouped_nvfp4({256, 128, 128}, CutlassFusion::finalize), expected);
}

TEST(CutlassRemedies, OfAKernelThatFitsAreNone) { EXPECT_TRUE(remedies_of(grouped_nvfp4({128, 128, 128})).empty()); }

TEST(CutlassRemedies, NameAnotherTileWhereNoStageCountHelps) {
  CutlassRequest request = with_stages(grouped_nvfp4({256, 128, 128}), 2);
  request.a = request.b = CutlassOperand::mxfp8;
  const std::vector<CutlassRemedy> remedies = remedies_of(request);
  ASSERT_FALSE(remedies.empty());
  EXPECT_EQ(remedies.front().change, "tile 256x64x128");
  EXPECT_TRUE(remedies.front().fits);
  EXPECT_FALSE(remedies.back().fits);
}

TEST(CutlassRemedies, OfABuildErrorBuild) {
  CutlassRequest cluster = grouped_nvfp4({128, 128, 128});
  cluster.cluster_m = 2;
  expect_remedies(cluster, {{"cluster 1x1", 4, 89088}});

  CutlassRequest wrong_tag = grouped_nvfp4({128, 128, 128});
  wrong_tag.schedule = {CutlassWarps::one_sm, CutlassTagFamily::nvf4, true, Arch::sm_100, std::nullopt};
  expect_remedies(wrong_tag, {{"KernelScheduleAuto", 4, 89088}});

  CutlassRequest fp8 = grouped_nvfp4({128, 128, 128});
  fp8.a = fp8.b = CutlassOperand::fp8;
  expect_remedies(fp8, {{"KernelPtrArrayTmaWarpSpecializedCooperativeSm120<2>", 2, 79872}});

  expect_remedies(grouped_nvfp4({64, 128, 128}), {{"tile 128x128x128", 4, 89088}});

  expect_remedies(grouped_nvfp4({256, 128, 256}), {{"tile 256x128x128", 3, 98304}, {"tile 128x128x256", 2, 89088}});
}

// 16-bit operands have no TMA builder on SM120, whatever the tile.
TEST(CutlassRemedies, AreNoneWhereNothingBuilds) {
  CutlassRequest request = grouped_nvfp4({128, 128, 64});
  request.a = request.b = CutlassOperand::bf16;
  EXPECT_TRUE(remedies_of(request).empty());
}

}  // namespace
}  // namespace tilewright::cutlass_tests
