#include "tilewright/shared_memory.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "schedule/problems.hpp"
#include "tilewright/catalogue.hpp"

namespace tilewright {
namespace {

constexpr Schedule sm120(int m, int n, int k, int stages, Epilogue epilogue) {
  Schedule s;
  s.arch = Arch::sm_120;
  s.precision = Precision::w4a4;
  s.mma = Mma::mma_mxf4nvf4;
  s.tile_m = m;
  s.tile_n = n;
  s.tile_k = k;
  s.stages = stages;
  s.roles = {1, 8, Consumers::cooperative};
  s.epilogue = epilogue;
  return s;
}

constexpr Schedule sm90(int m, int n, int k, int stages, Epilogue epilogue) {
  Schedule s = sm120(m, n, k, stages, epilogue);
  s.arch = Arch::sm_90;
  s.precision = Precision::w4a16;
  s.mma = Mma::wgmma_rs_bf16;
  return s;
}

// What a kernel does with a schedule: it is a template argument, and its bytes are a constant.
template <Schedule S>
constexpr std::int64_t kernel_bytes() {
  static_assert(shared_memory(S).total <= smem_per_block(S.arch));
  return shared_memory(S).total;
}

static_assert(kernel_bytes<sm120(128, 256, 128, 3, Epilogue::finalize)>() == 91776);
static_assert(kernel_bytes<sm120(256, 128, 128, 3, Epilogue::finalize)>() == 99968);

TEST(SharedMemory, OfAnSm120TileIsTheSumWorkedOutByHand) {
  // A stage: 128 * 128 / 2 + 128 * 128 / 16 for the weights and the same for 128 tokens.
  const SharedMemoryPlan plan = shared_memory(sm120(128, 128, 128, 5, Epilogue::bf16));
  EXPECT_EQ(plan.stage_bytes, 2 * (8192 + 1024));
  EXPECT_EQ(plan.find(Buffer::weight_codes).bytes, 5 * 8192);
  EXPECT_EQ(plan.find(Buffer::token_scales).offset, 8192 + 1024 + 8192);
  EXPECT_EQ(plan.find(Buffer::staging).bytes, 32 * (256 + 16));
  EXPECT_EQ(plan.find(Buffer::full_barriers).bytes, 5 * 8);
  // 5 * 18432 + 8704 + 80 + 32 + 32, rounded up to 128.
  EXPECT_EQ(plan.total, 101120);
  EXPECT_EQ(plan.find(Buffer::granule_padding).bytes, 101120 - (5 * 18432 + 8704 + 80 + 32 + 32));
}

TEST(SharedMemory, PadsAStageWhoseTokensEndInsideALine) {
  // 8 tokens of 128: 512 + 64 bytes.
  const SharedMemoryPlan plan = shared_memory(sm120(128, 8, 128, 2, Epilogue::bf16));
  EXPECT_EQ(plan.stage_bytes, 9216 + 512 + 64 + 64);
  EXPECT_EQ(plan.find(Buffer::stage_padding).bytes, 2 * 64);
  EXPECT_EQ(shared_memory(sm120(128, 8, 256, 2, Epilogue::bf16)).find(Buffer::stage_padding).bytes, 0);
}

TEST(SharedMemory, OfAnSm120TileWithBf16TokensHasThemBehindTheWeights) {
  Schedule s = sm120(128, 16, 128, 3, Epilogue::bf16);
  s.precision = Precision::w4a16;
  s.mma = Mma::mma_bf16;
  const SharedMemoryPlan plan = shared_memory(s);
  EXPECT_EQ(plan.find(Buffer::tokens).offset, 8192 + 1024);
  EXPECT_EQ(plan.find(Buffer::tokens).bytes, 3 * 16 * 128 * 2);
  EXPECT_EQ(plan.stage_bytes, 8192 + 1024 + 4096);
  EXPECT_EQ(plan.find(Buffer::token_codes).bytes, 0);
}

TEST(SharedMemory, OfAnSm90TileKeepsTheTokensAtTheSwizzleAtom) {
  const SharedMemoryPlan plan = shared_memory(sm90(128, 256, 64, 4, Epilogue::gated_bf16));
  EXPECT_EQ(plan.find(Buffer::tokens).offset, 0);
  EXPECT_EQ(plan.find(Buffer::tokens).alignment, 1024);
  EXPECT_EQ(plan.stage_bytes, 256 * 64 * 2 + 128 * 64 * 9 / 16 + 512);  // padded to 1,024
  EXPECT_EQ(plan.find(Buffer::staging).bytes, 32 * (64 * 2 + 16));      // 64 channels: gate and up are one
}

TEST(SharedMemory, StagesBf16AlsoWhereNvfp4IsStored) {
  const auto staging = [](Epilogue epilogue) {
    return shared_memory(sm120(128, 128, 128, 2, epilogue)).find(Buffer::staging).bytes;
  };
  EXPECT_EQ(staging(Epilogue::act_nvfp4), 32 * (128 * 2 + 16));
  EXPECT_EQ(staging(Epilogue::gated_nvfp4), 32 * (64 * 2 + 16));
}

TEST(SharedMemory, StagesOneBufferForEachConsumerGroup) {
  Schedule s = sm120(128, 64, 128, 3, Epilogue::bf16);
  const std::int64_t one = shared_memory(s).find(Buffer::staging).bytes;
  s.roles.consumers = Consumers::pingpong;
  EXPECT_EQ(shared_memory(s).find(Buffer::staging).bytes, 2 * one);
}

TEST(SharedMemory, OfACpuIsTheWorkingSetOfACore) {
  Schedule s;
  s.mma = Mma::cpu_panel;
  s.precision = Precision::w4a16;
  s.tile_n = 4;
  s.tile_k = 1024;
  const SharedMemoryPlan plan = shared_memory(s);
  EXPECT_EQ(plan.find(Buffer::weight_panel).bytes, 16 * 1024 * 2);
  EXPECT_EQ(plan.find(Buffer::token_codes).bytes, 4 * 1024 * 2);
  EXPECT_EQ(plan.find(Buffer::accumulators).bytes, 16 * 4 * 4);
  s.mma = Mma::cpu_stream;
  EXPECT_EQ(shared_memory(s).find(Buffer::weight_panel).bytes, 0);
}

// Every buffer starts where the one before it ends, at its alignment, in every stage; together they are the total.
void check_layout(const Schedule& s) {
  const SharedMemoryPlan plan = shared_memory(s);
  std::int64_t sum = 0;
  for (const SharedBuffer& buffer : plan) {
    sum += buffer.bytes;
    RC_ASSERT(buffer.bytes > 0);
    RC_ASSERT(buffer.offset % buffer.alignment == 0);
    RC_ASSERT(buffer.stage_stride % buffer.alignment == 0);
  }
  RC_ASSERT(sum == plan.total);
  std::int64_t cursor = 0;
  bool in_stage = !on_cpu(s.mma);
  for (const SharedBuffer& buffer : plan) {
    if (in_stage && buffer.stage_stride == 0) {
      RC_ASSERT(cursor == plan.stage_bytes);
      cursor *= s.stages;
      in_stage = false;
    }
    RC_ASSERT(buffer.offset == cursor);
    cursor += buffer.stage_stride > 0 ? buffer.bytes / s.stages : buffer.bytes;
  }
  if (!on_cpu(s.mma)) RC_ASSERT(plan.total % kAllocationGranule == 0);
}

TEST(SharedMemory, BuffersOfEveryCandidateTouchAlignAndSumToTheTotal) {
  EXPECT_TRUE(rc::check("layout of a random candidate", [] {
    const auto name = *rc::gen::element<std::string>("h200", "rtx-pro-6000-server", "gb10", "cpu");
    const Device device = name == "cpu" ? schedule_tests::cpu() : schedule_tests::device(name);
    const bool either = kernel_arch(device.arch) == Arch::sm_120;
    const Precision precision = either ? *rc::gen::element(Precision::w4a4, Precision::w4a16) : Precision::w4a16;
    const bool fp4 = precision == Precision::w4a4;
    const auto epilogue =
        *rc::gen::element(Epilogue::bf16, Epilogue::finalize, fp4 ? Epilogue::act_nvfp4 : Epilogue::act_bf16,
                          fp4 ? Epilogue::gated_nvfp4 : Epilogue::gated_bf16);
    auto problem = grouped_gemm(4, 16, 1024, 1024, precision, epilogue);
    RC_ASSERT(problem.has_value());
    const auto all = candidates(device, *problem);
    check_layout(all[*rc::gen::inRange<std::size_t>(0, all.size())]);
  }));
}

}  // namespace
}  // namespace tilewright
