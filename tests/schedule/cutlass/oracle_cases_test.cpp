// Kernels of public reports, with the answers that compiling them gave (S1 to S14), and what the oracle says of them.
#include <algorithm>

#include "schedule/cutlass/oracle_table.hpp"

namespace tilewright::cutlass_tests {
namespace {

using Element = CutlassElement;
using Operand = CutlassOperand;

CutlassKernel resolved(const CutlassRequest& request) {
  const auto kernel = resolve_cutlass(request);
  EXPECT_TRUE(kernel) << kernel.error().message();
  return kernel.value_or(CutlassKernel());
}

void expect_kernel(const CutlassRequest& request, int stages, std::int64_t total) {
  const CutlassKernel kernel = resolved(request);
  EXPECT_TRUE(kernel.builds());
  EXPECT_EQ(kernel.stages, stages);
  EXPECT_EQ(kernel.total, total);
  EXPECT_EQ(kernel.limit, 101376);
  EXPECT_EQ(kernel.fits(), total <= 101376);
}

CutlassRequest finalize(CutlassTile tile) { return grouped_nvfp4(tile, CutlassFusion::finalize); }

CutlassRequest dense(CutlassTile tile, Operand operand = Operand::nvfp4) {
  CutlassRequest request = grouped_nvfp4(tile);
  request.grouped = false;
  request.a = request.b = operand;
  request.c = Element::none;
  return request;
}

CutlassRequest swapped(CutlassRequest request) {
  request.swap_ab = true;
  return request;
}

TEST(CutlassCases, S1Plain128x128x128HasFourStages) { expect_kernel(grouped_nvfp4({128, 128, 128}), 4, 89088); }

TEST(CutlassCases, S2Plain128x128x256HasTwoStages) { expect_kernel(grouped_nvfp4({128, 128, 256}), 2, 89088); }

TEST(CutlassCases, S3PlainTilesOf256FitWith3072BytesToSpare) {
  expect_kernel(grouped_nvfp4({256, 128, 128}), 3, 98304);
  expect_kernel(grouped_nvfp4({128, 256, 128}), 3, 98304);
}

TEST(CutlassCases, S4FinalizeTilesOf256AreOverBy1024Bytes) {
  for (const CutlassTile tile : {CutlassTile{256, 128, 128}, CutlassTile{128, 256, 128}}) {
    expect_kernel(finalize(tile), 3, 102400);
    EXPECT_EQ(resolved(finalize(tile)).over_bytes(), 1024);
  }
}

TEST(CutlassCases, S5TwoStagesMakeThemFit) {
  expect_kernel(with_stages(finalize({256, 128, 128}), 2), 2, 74752);
  expect_kernel(with_stages(finalize({128, 256, 128}), 2), 2, 74752);
}

TEST(CutlassCases, S6SwappedOperandsMakeThemFit) {
  expect_kernel(swapped(finalize({256, 128, 128})), 2, 74752);
  expect_kernel(swapped(finalize({128, 256, 128})), 2, 74752);
}

TEST(CutlassCases, S7FinalizeTilesOf128Fit) {
  expect_kernel(finalize({128, 128, 128}), 4, 93184);
  expect_kernel(finalize({128, 128, 256}), 2, 93184);
}

TEST(CutlassCases, S8SmallTilesFillTheLimitToTheByte) {
  for (const CutlassVersion version : {CutlassVersion::v4_5_0, CutlassVersion::v4_7_0}) {
    const auto of_version = [&](CutlassTile tile) {
      CutlassRequest request = grouped_nvfp4(tile);
      request.version = version;
      return request;
    };
    expect_kernel(of_version({128, 32, 128}), 7, 101376);
    expect_kernel(of_version({128, 64, 128}), 6, 101376);
    expect_kernel(of_version({128, 64, 256}), 3, 101376);
  }
}

TEST(CutlassCases, S9Plain128x32x256HasThreeStages) { expect_kernel(grouped_nvfp4({128, 32, 256}), 3, 89088); }

TEST(CutlassCases, S10DenseWithoutC) {
  expect_kernel(dense({128, 128, 128}), 4, 83968);
  expect_kernel(dense({256, 128, 128}), 3, 93184);
}

TEST(CutlassCases, S11Dense256x128x256IsOverBy19456Bytes) {
  expect_kernel(with_stages(dense({256, 128, 256}), 2), 2, 120832);
}

TEST(CutlassCases, S12Dense128x128x512IsOverBy56320Bytes) {
  expect_kernel(with_stages(dense({128, 128, 512}), 2), 2, 157696);
}

TEST(CutlassCases, S13Mxfp8TilesOf256AreOverBy10240Bytes) {
  expect_kernel(with_stages(dense({256, 128, 128}, Operand::mxfp8), 2), 2, 111616);
  expect_kernel(with_stages(dense({128, 256, 128}, Operand::mxfp8), 2), 2, 111616);
  expect_kernel(with_stages(dense({128, 128, 128}, Operand::mxfp8), 2), 2, 77824);
}

TEST(CutlassCases, S14Mxfp8WithMxfp4KeepsBothInBytes) {
  const auto mixed = [](CutlassRequest request) {
    request.a = Operand::mxfp8;
    request.b = Operand::mxfp4;
    return request;
  };
  expect_kernel(mixed(grouped_nvfp4({128, 128, 128})), 2, 82944);
  expect_kernel(mixed(finalize({128, 128, 128})), 2, 87040);
}

TEST(CutlassCases, AutoIsCooperativeAndTheSameType) {
  CutlassRequest request = finalize({128, 256, 128});
  const CutlassKernel automatic = resolved(request);
  request.schedule = {CutlassWarps::cooperative, CutlassTagFamily::none, true, std::nullopt, std::nullopt};
  const CutlassKernel cooperative = resolved(request);
  EXPECT_EQ(automatic.policy, cooperative.policy);
  EXPECT_EQ(automatic.warps, CutlassWarps::cooperative);
  request.schedule.warps = CutlassWarps::pingpong;
  EXPECT_EQ(resolved(request).total, automatic.total);
}

std::int64_t reserved_for(const CutlassKernel& kernel, const std::string& name) {
  const auto part = std::find_if(kernel.storage.begin(), kernel.storage.end(),
                                 [&](const CutlassStorage& each) { return each.name == name; });
  return part == kernel.storage.end() ? -1 : part->reserved;
}

std::int64_t bytes_of(const CutlassKernel& kernel, const std::string& name) {
  std::int64_t bytes = 0;
  for (const CutlassStorage& part : kernel.storage) {
    if (part.name == name) bytes += part.bytes;
  }
  return bytes;
}

// The account of the kernel of the report: cutlass.md 3.3.
TEST(CutlassCases, TheFailingKernelIsAccountedForToTheByte) {
  const CutlassKernel kernel = resolved(finalize({128, 256, 128}));
  EXPECT_EQ(kernel.reserved_bytes, 3 * 27776 + 17408 + 432);
  EXPECT_EQ(bytes_of(kernel, "tensors.mainloop.smem_A"), 24576);
  EXPECT_EQ(bytes_of(kernel, "tensors.mainloop.smem_B"), 49152);
  EXPECT_EQ(bytes_of(kernel, "tensors.mainloop.smem_SFA"), 3072);
  EXPECT_EQ(bytes_of(kernel, "tensors.mainloop.smem_SFB"), 6144);
  EXPECT_EQ(bytes_of(kernel, "tensors.epilogue.smem_C"), 8192);
  EXPECT_EQ(bytes_of(kernel, "tensors.epilogue.smem_D"), 8192);
  EXPECT_EQ(bytes_of(kernel, "tensors.epilogue.bias_row"), 512);
  EXPECT_EQ(bytes_of(kernel, "padding"), 512 + 32 + 768);
  EXPECT_EQ(bytes_of(kernel, "scheduler_response"), 128);
  EXPECT_EQ(reserved_for(kernel, "scheduler_response"), 0);
  EXPECT_EQ(bytes_of(kernel, "tensormaps.mainloop"), 512);
  EXPECT_EQ(reserved_for(kernel, "tensormaps.mainloop"), 256);
  EXPECT_EQ(bytes_of(kernel, "pipelines.load_order"), 16);
  EXPECT_EQ(reserved_for(kernel, "pipelines.load_order"), 0);
  EXPECT_EQ(bytes_of(kernel, "pipelines.mainloop"), 48);
  EXPECT_EQ(reserved_for(kernel, "pipelines.mainloop"), 384);
  EXPECT_EQ(bytes_of(kernel, "tensormap_ready_pipeline"), 0);
  EXPECT_EQ(reserved_for(kernel, "tensormap_ready_pipeline"), 48);
}

// Every step says what was asked, what came of it, by which rule and in which file.
TEST(CutlassCases, StepsFollowTheTemplatesFromTheEpilogueToTheKernel) {
  const CutlassKernel kernel = resolved(finalize({128, 256, 128}));
  std::vector<std::string> order;
  for (const CutlassStep& step : kernel.steps) {
    order.push_back(step.what);
    EXPECT_FALSE(step.requested.empty() || step.resolved.empty() || step.rule.empty()) << step.what;
    EXPECT_NE(step.file.find('/'), std::string::npos) << step.what << ": " << step.file;
  }
  const std::vector<std::string> expected = {"epilogue schedule",
                                             "epilogue tile",
                                             "epilogue stages",
                                             "mainloop schedule",
                                             "grouped or dense",
                                             "carve-out",
                                             "stages",
                                             "dispatch policy",
                                             "kernel",
                                             "tile scheduler"};
  EXPECT_EQ(order, expected);
}

// nvcc compiles the body with 64x16 and stops at 32x32; the types have their sizes with both.
TEST(CutlassCases, EpilogueTilesAreWholeMmaTilesOrPartOfOnesColumns) {
  CutlassRequest request = grouped_nvfp4({128, 128, 128});
  request.epilogue_tile_m = 64;
  request.epilogue_tile_n = 16;
  EXPECT_TRUE(resolved(request).builds());
  request.epilogue_tile_m = request.epilogue_tile_n = 32;
  const CutlassKernel kernel = resolved(request);
  ASSERT_FALSE(kernel.builds());
  EXPECT_TRUE(kernel.error->in_kernel_body);
  EXPECT_EQ(kernel.error->message, "MMA_TILE_M must divide EPI_TILE_M");
  EXPECT_GT(kernel.total, 0);
}

// The weights of the router run along N where C and D are column-major: 4 B each, told apart from the padding by an
// epilogue tile whose buffers are aligned to less than a KiB.
TEST(CutlassCases, FinalizeKeepsTheRoutersWeightsWhereOperandsAreSwapped) {
  CutlassRequest request = swapped(finalize({128, 128, 128}));
  request.epilogue_tile_m = 16;
  request.epilogue_tile_n = 32;
  EXPECT_EQ(resolved(request).epilogue_bytes, 4608);
}

TEST(CutlassCases, WhatNoCompilationCoversIsUnsupported) {
  CutlassRequest odd_tile = grouped_nvfp4({192, 128, 128});
  CutlassRequest no_output = grouped_nvfp4({128, 128, 128});
  no_output.d = Element::none;
  CutlassRequest dense_finalize = finalize({128, 128, 128});
  dense_finalize.grouped = false;
  CutlassRequest thor = grouped_nvfp4({128, 128, 128});
  thor.arch = Arch::sm_110;
  CutlassRequest mixed = grouped_nvfp4({128, 128, 128});
  mixed.b = Operand::fp8;
  for (const CutlassRequest& request : {odd_tile, no_output, dense_finalize, thor, mixed}) {
    const auto kernel = resolve_cutlass(request);
    ASSERT_FALSE(kernel);
    EXPECT_EQ(kernel.error().code, ErrorCode::unsupported);
    EXPECT_NE(kernel.error().remedy.find("covered: "), std::string::npos) << kernel.error().message();
  }
}

TEST(CutlassCases, SizesThatAreNoneAreInvalid) {
  CutlassRequest tile = grouped_nvfp4({0, 128, 128});
  CutlassRequest cluster = grouped_nvfp4({128, 128, 128});
  cluster.cluster_n = 0;
  CutlassRequest carveout = grouped_nvfp4({128, 128, 128});
  carveout.stages.carveout_bytes = -1;
  CutlassRequest half = grouped_nvfp4({128, 128, 128});
  half.epilogue_tile_m = 64;
  for (const CutlassRequest& request :
       {tile, cluster, carveout, half, with_stages(grouped_nvfp4({128, 128, 128}), 0)}) {
    const auto kernel = resolve_cutlass(request);
    ASSERT_FALSE(kernel);
    EXPECT_EQ(kernel.error().code, ErrorCode::invalid_argument) << kernel.error().message();
  }
}

}  // namespace
}  // namespace tilewright::cutlass_tests
