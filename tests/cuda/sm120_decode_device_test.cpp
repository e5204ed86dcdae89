// The decoder of SM120's w4a16 kernels on an SM90 GPU: every code under every scale, with nothing rounded. Without such
// a GPU the test is skipped and says why.
#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <vector>

#include "cuda/device.hpp"
#include "cuda/device_memory.hpp"
#include "cuda/nvfp4_matrix.hpp"
#include "cuda/packed_matrix.hpp"
#include "cuda/sm120/grouped_gemm.hpp"
#include "tilewright/nvfp4.hpp"

namespace tilewright::cuda {
namespace {

constexpr int kRows = 128;
constexpr int kK = 128;

/// All 16 codes in each block, the scales 0x00 to 0x7E block after block.
Matrix every_weight() {
  Matrix m;
  for (int i = 0; i < kRows * kK / 2; ++i) m.codes.push_back(static_cast<std::uint8_t>(i % 8 * 0x22 + 0x10));
  for (int i = 0; i < kRows * kK / kBlock; ++i) m.scales.push_back(static_cast<std::uint8_t>(i % 0x7F));
  m.view.codes = m.codes.data();
  m.view.scales = m.scales.data();
  m.view.rows = m.view.valid_rows = kRows;
  m.view.cols = m.view.valid_cols = kK;
  m.view.code_row_stride = kK / 2;
  m.view.scale_row_stride = kK / kBlock;
  return m;
}

/// Row r is one at k = r and zero elsewhere.
std::vector<std::uint8_t> unit_tokens() {
  constexpr std::uint16_t kOne = 0x3F80;
  std::vector<std::uint8_t> tiles(static_cast<std::size_t>(sm120::bf16_token_bytes(kK, kK)), 0);
  for (int r = 0; r < kK; ++r) {
    std::memcpy(tiles.data() + sm120::bf16_value_place(r, r, kK), &kOne, sizeof(kOne));
  }
  return tiles;
}

/// y of a kernel that ends in bf16: row r is column r of the weights.
std::vector<std::uint16_t> columns_of(const Matrix& weights, const sm120::BuiltGemm& gemm) {
  std::vector<std::uint8_t> packed(
      static_cast<std::size_t>(packed_bytes(weights.view, weights.view, WeightOrder::sm120)));
  if (!pack_matrix(weights.view, weights.view, packed.data(), WeightOrder::sm120)) throw std::runtime_error("packing");
  std::vector<std::int32_t> dests;
  for (int r = 0; r < kK; ++r) dests.push_back(r);
  const DeviceMemory device_weights(packed);
  const DeviceMemory row_scales(std::vector<float>{1.0F, 1.0F});
  const DeviceMemory tokens(unit_tokens());
  const DeviceMemory device_dests(dests);
  const DeviceMemory ranges(std::vector<RowRange>{{0, kK}});
  const DeviceMemory y(std::int64_t{kRows} * kK * 2);
  y.fill(0xFF);
  sm120::GemmParams p;
  p.weights = device_weights.as<std::uint8_t>();
  p.expert_stride = static_cast<std::int64_t>(packed.size());
  p.row_scales = row_scales.as<float>();
  p.x = tokens.as<std::uint8_t>();
  p.row_dest = device_dests.as<std::int32_t>();
  p.row_ranges = ranges.as<RowRange>();
  p.y = y.as<void>();
  p.y_stride = kRows;
  p.group_rows = kK;
  p.experts = 1;
  p.weight_rows = kRows;
  p.k = kK;
  require(gemm.prepare());
  const Status status = sm120::launch_gemm(gemm, gemm.deepest, p, kK, 4, false, nullptr);
  if (!status) throw std::runtime_error(status.error().message());
  require(cudaDeviceSynchronize());
  return y.read<std::uint16_t>(std::size_t{kRows} * kK);
}

TEST(Sm120Decode, GivesEveryCodeUnderEveryScaleExactly) {
  const auto gpu = current_sm90();
  if (!gpu) GTEST_SKIP() << gpu.error().message();
  const Matrix weights = every_weight();
  int kernels = 0;
  for (const sm120::BuiltGemm& gemm : sm120::built_gemms()) {
    if (gemm.policy != sm120::MmaPolicy::emulated || gemm.deepest.precision != Precision::w4a16) continue;
    if (gemm.deepest.epilogue != Epilogue::bf16) continue;
    ++kernels;
    const std::vector<std::uint16_t> y = columns_of(weights, gemm);
    for (int n = 0; n < kRows; ++n) {
      for (int k = 0; k < kK; ++k) {
        const double got = bf16(y[static_cast<std::size_t>(k) * kRows + static_cast<std::size_t>(n)]);
        ASSERT_EQ(got, element(weights, n, k)) << describe(gemm.deepest) << ", row " << n << ", k " << k;
      }
    }
  }
  EXPECT_GT(kernels, 0);
}

}  // namespace
}  // namespace tilewright::cuda
