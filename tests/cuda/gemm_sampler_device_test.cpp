// The check and the timing of single GEMMs on a GPU. Where there is none that the kernels are built for, every test is
// skipped and says why.
#include <gtest/gtest.h>

#include <cuda_runtime_api.h>

#include "cuda/moe/gemm_check.hpp"
#include "cuda/moe/gemm_operands.hpp"
#include "cuda/moe/gemm_sampler.hpp"
#include "cuda/moe/sort_blocks.hpp"
#include "cuda/runtime_handles.hpp"
#include "cuda/sm90/grouped_gemm.hpp"
#include "tilewright/cuda_layer.hpp"

namespace tilewright::cuda {
namespace {

SampledGemm problem(GemmId gemm, bool gated, int intermediate, int tokens = 150) {
  SampledGemm problem;
  problem.gemm = gemm;
  problem.experts = 6;
  problem.tokens = tokens;
  problem.top_k = 3;
  problem.hidden = 512;
  problem.intermediate = intermediate;
  problem.activation = {gated ? ActivationKind::silu_gated : ActivationKind::relu2, 0.0F};
  problem.expected_us = 50;
  problem.expected_weight_bytes = 1e6;
  problem.routing = [tokens](int launch) {
    RoutedTokens routed{tokens, 3, {}, {}, false};
    // Experts 0..7, of which the rank has six; expert 5 has no row.
    for (int i = 0; i < 3 * tokens; ++i) routed.ids.push_back((launch + i * 5) % 8 == 5 ? 7 : (launch + i * 5) % 8);
    routed.weights.assign(static_cast<std::size_t>(3 * tokens), 0.3F);
    return routed;
  };
  return problem;
}

bool suits(const Schedule& schedule, GemmId gemm, bool gated) {
  if (gemm == GemmId::gemm2) return schedule.epilogue == Epilogue::finalize;
  return schedule.epilogue == (gated ? Epilogue::gated_bf16 : Epilogue::act_bf16);
}

class GemmSamplerOnDevice : public testing::Test {
 protected:
  void SetUp() override {
    const Status available = cuda_available();
    if (!available) GTEST_SKIP() << available.error().message();
  }
};

TEST_F(GemmSamplerOnDevice, FindsEveryBuiltKernelRightAndTimesIt) {
  auto sampler = GemmSampler::create();
  ASSERT_TRUE(sampler) << sampler.error().message();
  for (const GemmId gemm : {GemmId::gemm1, GemmId::gemm2}) {
    for (const bool gated : {true, false}) {
      for (const int intermediate : {256, 720}) {  // 720: K, and N, end inside a slab
        const Status loaded = sampler->load(problem(gemm, gated, intermediate));
        ASSERT_TRUE(loaded) << loaded.error().message();
        for (const sm90::BuiltGemm& built : sm90::built_gemms()) {
          if (!suits(built.schedule, gemm, gated)) continue;
          const Status checked = sampler->check(built.schedule);
          EXPECT_TRUE(checked) << describe(built.schedule) << ": " << checked.error().message();
          if (!checked) continue;
          const auto us = sampler->sample(built.schedule);
          ASSERT_TRUE(us) << us.error().message();
          EXPECT_GT(*us, 0.5);
          EXPECT_LT(*us, 1000.0);
        }
      }
    }
  }
}

TEST_F(GemmSamplerOnDevice, SortsMoreSlotsThanAClusterDoes) {
  auto sampler = GemmSampler::create();
  ASSERT_TRUE(sampler) << sampler.error().message();
  const SampledGemm many = problem(GemmId::gemm2, true, 256, 5000);
  ASSERT_GT(many.tokens * many.top_k, kSlotsOfCluster);
  const Status loaded = sampler->load(many);
  ASSERT_TRUE(loaded) << loaded.error().message();
  const Status checked = sampler->check(sm90_schedule(kSm90Tiles[8], Epilogue::finalize));
  EXPECT_TRUE(checked) << checked.error().message();
}

// Needs no GPU: it returns before it launches.
TEST(Sort, RefusesManySlotsWithoutRoomForTheBlocksCounts) {
  SortParams params;
  params.slots = kSlotsOfCluster + 1;
  params.experts = 8;
  EXPECT_EQ(enqueue_sort(params, false, nullptr), cudaErrorInvalidValue);
}

TEST_F(GemmSamplerOnDevice, RefusesWhatWasNotCheckedAndWhatIsNotBuilt) {
  auto sampler = GemmSampler::create();
  ASSERT_TRUE(sampler);
  ASSERT_TRUE(sampler->load(problem(GemmId::gemm2, true, 256)));
  Schedule schedule = sm90_schedule(kSm90Tiles[0], Epilogue::finalize);
  EXPECT_FALSE(sampler->sample(schedule));
  ASSERT_TRUE(sampler->check(schedule));
  EXPECT_TRUE(sampler->sample(schedule));
  schedule.stages = 2;
  EXPECT_EQ(sampler->check(schedule).error().code, ErrorCode::unsupported);
}

// A kernel that forgets a row, or gets one value wrong, is found.
TEST_F(GemmSamplerOnDevice, TheCheckSeesOneWrongValueAndWhatWasNotWritten) {
  for (const GemmId gemm : {GemmId::gemm1, GemmId::gemm2}) {
    const auto stream = make_stream();
    ASSERT_TRUE(stream);
    GemmOperands operands;
    ASSERT_TRUE(operands.load(problem(gemm, true, 256), std::int64_t{50} << 20U, stream->get()));
    const Schedule schedule =
        sm90_schedule(Sm90Tile{256, 112, 128, 4}, gemm == GemmId::gemm1 ? Epilogue::gated_bf16 : Epilogue::finalize);
    const auto built = sm90::find_gemm(schedule);
    ASSERT_TRUE(built);
    const auto y = DeviceBuffer::allocate(operands.y_bytes());
    const auto reference = DeviceBuffer::allocate(operands.y_bytes());
    const auto counts = DeviceBuffer::allocate(sizeof(CheckCounts));
    ASSERT_TRUE(y && reference && counts);
    sm90::GemmParams params = operands.params(0);
    params.y = y->as();
    ASSERT_EQ((*built)->prepare(), cudaSuccess);
    ASSERT_EQ(cudaMemset(y->as(), 0xFF, static_cast<std::size_t>(operands.y_bytes())), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_TRUE(sm90::launch_gemm(**built, params, operands.slots(), 132, false, stream->get()));
    ASSERT_EQ(cudaStreamSynchronize(stream->get()), cudaSuccess);
    ASSERT_EQ(
        cudaMemcpy(reference->as(), y->as(), static_cast<std::size_t>(operands.y_bytes()), cudaMemcpyDeviceToDevice),
        cudaSuccess);

    CheckParams check;
    check.gemm = params;
    check.epilogue = schedule.epilogue;
    check.reference = reference->as();
    check.reference_rms = 1.0;
    check.counts = counts->as<CheckCounts>();
    const auto counted = [&](bool all) {
      CheckCounts found;
      EXPECT_EQ(cudaMemset(counts->as(), 0, sizeof(found)), cudaSuccess);
      EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      EXPECT_EQ(all ? enqueue_compare_outputs(check, stream->get()) : enqueue_check_samples(check, 64, stream->get()),
                cudaSuccess);
      EXPECT_EQ(cudaStreamSynchronize(stream->get()), cudaSuccess);
      EXPECT_EQ(cudaMemcpy(&found, counts->as(), sizeof(found), cudaMemcpyDeviceToHost), cudaSuccess);
      return found;
    };
    EXPECT_GT(counted(false).values, 64U * 4U);
    EXPECT_EQ(counted(false).wrong, 0U);
    EXPECT_EQ(counted(true).wrong, 0U);
    EXPECT_EQ(counted(true).not_finite, 0U);

    // Value 0 of the first expert's first row: of GEMM1 in tile order, of GEMM2 in the row of its slot.
    std::int32_t row = 0;
    if (gemm == GemmId::gemm2) {
      ASSERT_EQ(cudaMemcpy(&row, params.row_dest, sizeof(row), cudaMemcpyDeviceToHost), cudaSuccess);
    }
    const std::uint16_t wrong = 0x4380;  // 256
    ASSERT_EQ(cudaMemcpy(y->as<std::uint16_t>(std::int64_t{row} * params.y_stride * 2), &wrong, sizeof(wrong),
                         cudaMemcpyHostToDevice),
              cudaSuccess);
    EXPECT_EQ(counted(true).wrong, 1U);
    ASSERT_EQ(cudaMemset(y->as(), 0xFF, static_cast<std::size_t>(operands.y_bytes())), cudaSuccess);
    EXPECT_EQ(counted(true).not_finite, counted(true).values);
    EXPECT_EQ(counted(false).wrong, counted(false).values);
  }
}

}  // namespace
}  // namespace tilewright::cuda
