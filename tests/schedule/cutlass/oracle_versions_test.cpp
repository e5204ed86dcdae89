// The oracle against cutlass_oracle_versions.csv: FlashInfer's 32 SM120 kernels with five versions of CUTLASS.
#include "schedule/cutlass/oracle_table.hpp"

namespace tilewright::cutlass_tests {
namespace {

// "4.5.0-dev@b46b16d (FlashInfer pin)" -> 4.5.0.
CutlassVersion version_of(const std::string& text) {
  return parse_cutlass_version(text.substr(0, text.find_first_of("-@"))).value();
}

CutlassRequest request_of(const Fields& row) {
  const bool finalize = row[4].find("FINALIZE") != std::string::npos;
  CutlassRequest request = grouped_nvfp4({std::stoi(row[1]), std::stoi(row[2]), std::stoi(row[3])},
                                         finalize ? CutlassFusion::finalize : CutlassFusion::linear_combination);
  request.swap_ab = row[4].find("swapAB") != std::string::npos;
  request.version = version_of(row[0]);
  return request;
}

std::int64_t carveout(const CutlassKernel& kernel) {
  for (const CutlassStep& step : kernel.steps) {
    if (step.what == "carve-out") return std::stoll(step.resolved);
  }
  return -1;
}

TEST(CutlassVersions, HaveTheStagesAndBytesThatWereCompiled) {
  const std::vector<Fields> rows = table("cutlass_oracle_versions.csv");
  ASSERT_EQ(rows.size(), 160U);
  for (const Fields& row : rows) {
    SCOPED_TRACE(row[0] + " " + row[1] + "x" + row[2] + "x" + row[3] + " " + row[4]);
    const auto kernel = resolve_cutlass(request_of(row));
    ASSERT_TRUE(kernel) << kernel.error().message();
    EXPECT_EQ(kernel->stages, std::stoi(row[5]));
    EXPECT_EQ(carveout(*kernel), std::stoll(row[6]));
    EXPECT_EQ(kernel->mainloop_bytes, std::stoll(row[7]));
    EXPECT_EQ(kernel->epilogue_bytes, std::stoll(row[8]));
    EXPECT_EQ(kernel->total, std::stoll(row[9]));
    EXPECT_EQ(kernel->limit, std::stoll(row[10]));
    EXPECT_EQ(kernel->total - kernel->limit, std::stoll(row[11]));
  }
}

// Pull request 3176 pads the scales of B to 128 columns; before it the layout has none, and TMA refuses it.
TEST(CutlassVersions, HaveNoKernelBodyForFewColumnsBefore4_5) {
  CutlassRequest request = grouped_nvfp4({128, 64, 128});
  request.version = CutlassVersion::v4_4_2;
  const CutlassKernel before = resolve_cutlass(request).value();
  ASSERT_FALSE(before.builds());
  EXPECT_TRUE(before.error->in_kernel_body);
  EXPECT_EQ(before.error->rule, "tile_n");
  request.version = CutlassVersion::v4_5_0;
  EXPECT_TRUE(resolve_cutlass(request)->builds());
}

// Pull request 3292 brings N of 8 and 16.
TEST(CutlassVersions, TakeColumnsBelow32Since4_6) {
  CutlassRequest request = grouped_nvfp4({128, 16, 128});
  request.version = CutlassVersion::v4_5_0;
  EXPECT_FALSE(resolve_cutlass(request)->builds());
  request.version = CutlassVersion::v4_7_0;
  EXPECT_EQ(resolve_cutlass(request)->total, 99328);
}

// The reserve of 432 B came with 4.4.2; it is what keeps this kernel within the limit (cutlass.md 2.6).
TEST(CutlassVersions, ReserveForTheKernelSince4_4_2) {
  CutlassRequest request = grouped_nvfp4({128, 128, 128});
  request.a = request.b = CutlassOperand::mxfp4;
  request.version = CutlassVersion::v4_4_1;
  EXPECT_EQ(resolve_cutlass(request)->total, 102400);
  request.version = CutlassVersion::v4_4_2;
  EXPECT_EQ(resolve_cutlass(request)->total, 84992);
}

// sm120_array_mma_builder.inl is of June 2026 (pull request 3280).
TEST(CutlassVersions, HaveNoArrayOfFp8Before4_7) {
  CutlassRequest request = grouped_nvfp4({128, 128, 128});
  request.a = request.b = CutlassOperand::fp8;
  request.schedule = {CutlassWarps::cooperative, CutlassTagFamily::none, true, Arch::sm_120, 2};
  EXPECT_EQ(resolve_cutlass(request)->total, 79872);
  request.version = CutlassVersion::v4_5_0;
  const CutlassKernel before = resolve_cutlass(request).value();
  ASSERT_FALSE(before.builds());
  EXPECT_EQ(before.error->message, "PtrArray kernel is not supported for this collective builder.");
}

}  // namespace
}  // namespace tilewright::cutlass_tests
