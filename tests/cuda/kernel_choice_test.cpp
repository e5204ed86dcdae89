// Which kernels run a layer on which GPU, without one.
#include "cuda/moe/kernel_choice.hpp"

#include <gtest/gtest.h>

namespace tilewright::cuda {
namespace {

GpuInfo gpu(int major) { return {"a GPU", major, 0, 132, 232448, std::int64_t{141} << 30}; }

KernelChoice chosen(int major, const CudaLayerOptions& options) {
  const auto choice = choose_kernels(gpu(major), options);
  if (!choice) ADD_FAILURE() << choice.error().message();
  return choice.value_or(KernelChoice{});
}

ErrorCode refusal(int major, const CudaLayerOptions& options) {
  const auto choice = choose_kernels(gpu(major), options);
  EXPECT_FALSE(choice);
  return choice ? ErrorCode::mismatch : choice.error().code;
}

TEST(KernelChoice, TakesTheGpusOwnKernelsUnlessOthersAreAskedFor) {
  EXPECT_EQ(chosen(9, {Precision::w4a16}).arch, Arch::sm_90);
  for (const Precision precision : {Precision::w4a16, Precision::w4a4}) {
    const KernelChoice choice = chosen(12, {precision});
    EXPECT_EQ(choice.arch, Arch::sm_120);
    EXPECT_EQ(choice.policy, sm120::MmaPolicy::native);
    EXPECT_FALSE(choice.emulates_mma);
  }
}

TEST(KernelChoice, EmulatesAnMmaOnlyWhereItIsAskedFor) {
  EXPECT_EQ(refusal(9, {Precision::w4a4, Arch::sm_120}), ErrorCode::unsupported);
  EXPECT_TRUE(chosen(9, {Precision::w4a4, Arch::sm_120, true}).emulates_mma);
  EXPECT_EQ(refusal(9, {Precision::w4a16, Arch::sm_90, true}), ErrorCode::invalid_argument);
  EXPECT_EQ(refusal(12, {Precision::w4a4, Arch::sm_120, true}), ErrorCode::invalid_argument);
}

// Both GPUs have the MMA of w4a16.
TEST(KernelChoice, RunsSm120KernelsOfW4a16OnSm90WithNothingEmulated) {
  for (const bool asked : {false, true}) {
    const KernelChoice choice = chosen(9, {Precision::w4a16, Arch::sm_120, asked});
    EXPECT_EQ(choice.arch, Arch::sm_120);
    EXPECT_EQ(choice.policy, sm120::MmaPolicy::emulated) << "those that are built for SM90";
    EXPECT_FALSE(choice.emulates_mma);
  }
}

TEST(KernelChoice, RefusesAPrecisionThatSm90DoesNotHaveAndGpusWithoutKernels) {
  EXPECT_EQ(refusal(9, {Precision::w4a4}), ErrorCode::unsupported);
  EXPECT_EQ(refusal(12, {Precision::w4a16, Arch::sm_90}), ErrorCode::unsupported);
  EXPECT_EQ(refusal(10, {Precision::w4a16}), ErrorCode::unsupported);
}

}  // namespace
}  // namespace tilewright::cuda
