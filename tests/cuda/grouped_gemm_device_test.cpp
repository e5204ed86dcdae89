// The kernels on a GPU. Where there is none, or one that they are not built for, every test is skipped and says why.
#include <gtest/gtest.h>

#include <cstring>

#include "cuda/cuda_error.hpp"
#include "cuda/device.hpp"
#include "cuda/device_memory.hpp"
#include "cuda/gemm_case.hpp"
#include "cuda/sm90/weight_order.hpp"

namespace tilewright::cuda {
namespace {

using sm90::built_gemms;
using sm90::BuiltGemm;

class GroupedGemmOnDevice : public testing::Test {
 protected:
  void SetUp() override {
    const auto gpu = current_sm90();
    if (!gpu) GTEST_SKIP() << gpu.error().message();
  }
};

void expect_exact(const BuiltGemm& gemm, const GemmCase& test, int repeats = 1) {
  const GemmOutcome outcome = run_case(gemm, test, repeats);
  const std::string what = describe(gemm.schedule) + ", N " + std::to_string(test.n) + ", K " + std::to_string(test.k);
  EXPECT_LE(outcome.worst, 1.0) << what << ": " << outcome.where;
  EXPECT_EQ(outcome.unwritten, 0U) << what;
  EXPECT_TRUE(outcome.flags_clear) << what;
}

TEST_F(GroupedGemmOnDevice, RoundsNothingButTheResultWhateverTheShape) {
  for (const BuiltGemm& gemm : built_gemms()) {
    const int n = gemm.schedule.tile_n;
    expect_exact(gemm, {256, 1024, {n, 0, 3, 1}});
    expect_exact(gemm, {352, 352, {n - 1, n + 1, 2 * n + 3}});
    expect_exact(gemm, {160, 80, {5, 0}});
    expect_exact(gemm, {704, 2880, {1, 2, 3, n, 0}});
    expect_exact(gemm, {768, 1856, {7, 3, 0, 0, 20, 1, 300, 2}});
    expect_exact(gemm, {512, 16, {4, 4}});
    expect_exact(gemm, {1536, 2048, {n - 3, 2 * n + 1}});
  }
}

TEST_F(GroupedGemmOnDevice, GivesTheSameResultWithFewBlocksAsWithAll) {
  for (const BuiltGemm& gemm : built_gemms()) {
    expect_exact(gemm, {192, 176, {9, 0, 17}, 7});
    expect_exact(gemm, {1024, 4096, {gemm.schedule.tile_n * 3 / 2}, 31});
    expect_exact(gemm, {256, 512, {3}, 1});
  }
}

TEST_F(GroupedGemmOnDevice, TakesManyExpertsAndNone) {
  for (const BuiltGemm& gemm : built_gemms()) {
    expect_exact(gemm, {96, 96, {0, 0, 0}});
    expect_exact(gemm, {128, 256, std::vector<int>(33, 2)});
    expect_exact(gemm, {32, 64, std::vector<int>(513, 1)});
  }
}

// For compute-sanitizer, which is slow: every kernel, several tiles and stages, a split tile where there are such.
TEST_F(GroupedGemmOnDevice, LaunchesEachKernelOnce) {
  for (const BuiltGemm& gemm : built_gemms()) expect_exact(gemm, {288, 336, {9, 0, 17}, 3});
}

TEST_F(GroupedGemmOnDevice, GivesTheSameBitsInAHundredRuns) {
  for (const BuiltGemm& gemm : built_gemms()) {
    if (gemm.schedule.epilogue != Epilogue::finalize) continue;
    expect_exact(gemm, {512, 2048, {gemm.schedule.tile_n, 1, 0, 7}}, 100);
  }
}

TEST_F(GroupedGemmOnDevice, AddressesRowsPastTwoToTheThirtyOneElements) {
  // 350,000 rows of 6,144 values: the last is ones, the others zeros.
  const std::int64_t rows = 350000;
  const int k = 6144;
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  require(cudaMemGetInfo(&free_bytes, &total));
  if (free_bytes < static_cast<std::size_t>(3 * rows * k))
    GTEST_SKIP() << "not enough device memory for 4.3 GB of rows";
  const auto found = sm90::find_gemm(sm90_schedule(kSm90Tiles[1], Epilogue::bf16));
  ASSERT_TRUE(found);
  const DeviceMemory x(rows * k * 2);
  x.fill(0);
  const std::vector<std::uint16_t> ones(static_cast<std::size_t>(k), 0x3F80);
  require(cudaMemcpy(x.as<std::uint16_t>() + (rows - 1) * k, ones.data(), ones.size() * 2, cudaMemcpyHostToDevice));
  std::vector<std::uint8_t> packed(static_cast<std::size_t>(sm90::matrix_bytes(64, k)), 0);
  for (std::size_t slab = 0; slab < packed.size(); slab += sm90::kSlabBytes) {
    // Code 2 (1.0) everywhere under scale 1.0 (E5M3 exponent 9).
    for (int word = 0; word < sm90::kSlabCodeBytes / 4; ++word) {
      std::uint32_t bits = 0;
      for (int i = 0; i < 8; ++i) bits |= sm90::place_code(2, i / 2, i % 2);
      std::memcpy(packed.data() + slab + word * 4, &bits, 4);
    }
    for (int word = 0; word < sm90::kSlabScaleBytes / 4; ++word) {
      std::uint32_t bits = 0;
      for (int i = 0; i < 4; ++i) bits |= sm90::place_scale(sm90::e5m3_of(0x38), i / 2, i % 2);
      std::memcpy(packed.data() + slab + sm90::kSlabCodeBytes + word * 4, &bits, 4);
    }
  }
  const DeviceMemory weights(packed);
  const DeviceMemory scales(std::vector<float>{sm90::kWeightUnbias, sm90::kWeightUnbias});
  const DeviceMemory ranges(std::vector<RowRange>{{0, 2}});
  const DeviceMemory dests(std::vector<std::int32_t>{0, 1});
  const DeviceMemory sources(std::vector<std::int32_t>{0, static_cast<std::int32_t>(rows - 1)});
  const int blocks = 4;
  const DeviceMemory partials(partial_bytes((*found)->schedule, blocks));
  const DeviceMemory flags(flag_bytes((*found)->schedule, blocks));
  flags.fill(0);
  const DeviceMemory y(std::int64_t{2} * 64 * 2);
  y.fill(0xFF);
  sm90::GemmParams p;
  p.weights = weights.as<std::uint8_t>();
  p.expert_stride = sm90::matrix_bytes(64, k);
  p.row_scales = scales.as<float>();
  p.x = x.as<void>();
  p.x_stride = k;
  p.row_source = sources.as<std::int32_t>();
  p.row_dest = dests.as<std::int32_t>();
  p.row_ranges = ranges.as<RowRange>();
  p.y = y.as<void>();
  p.y_stride = 64;
  p.experts = 1;
  p.weight_rows = 64;
  p.k = k;
  p.partials = partials.as<float>();
  p.flags = flags.as<unsigned>();
  require((*found)->prepare());
  ASSERT_TRUE(sm90::launch_gemm(**found, p, 2, blocks, false, nullptr));
  require(cudaDeviceSynchronize());
  const auto bits = y.read<std::uint16_t>(128);
  for (int channel = 0; channel < 64; ++channel) {
    ASSERT_EQ(bits[channel], 0x0000);
    ASSERT_EQ(bits[64 + channel], 0x45C0);  // 6,144
  }
}

TEST_F(GroupedGemmOnDevice, RefusesWhatItCannotRunAndStaysUsable) {
  const BuiltGemm& gemm = *sm90::find_gemm(sm90_schedule(kSm90Tiles[1], Epilogue::bf16)).value();
  sm90::GemmParams params;
  params.experts = 1;
  params.weight_rows = 64;
  params.k = 64;
  params.x_stride = 64;
  params.y_stride = 64;
  const Status no_workspace = sm90::launch_gemm(gemm, params, 1, 132, false, nullptr);
  ASSERT_FALSE(no_workspace);
  EXPECT_NE(no_workspace.error().message().find("1081344 bytes"), std::string::npos) << no_workspace.error().message();
  params.k = 72;
  EXPECT_EQ(sm90::launch_gemm(gemm, params, 1, 132, false, nullptr).error().code, ErrorCode::invalid_argument);
  params.k = 64;
  EXPECT_EQ(sm90::launch_gemm(gemm, params, std::int64_t{1} << 40, 132, false, nullptr).error().code,
            ErrorCode::exhausted);
  void* much = nullptr;
  const Status memory = cuda_status(cudaMalloc(&much, std::size_t{1} << 50), "allocating");
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code, ErrorCode::exhausted);
  expect_exact(gemm, {64, 64, {1}});
}

}  // namespace
}  // namespace tilewright::cuda
