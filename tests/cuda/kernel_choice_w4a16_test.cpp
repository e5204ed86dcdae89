// w4a16 on SM120's kernels: on SM12x its own, on SM90 those that are compiled for it, with nothing emulated.
#include <gtest/gtest.h>

#include "cuda/moe/kernel_choice.hpp"

namespace tilewright::cuda {
namespace {

GpuInfo gpu(int major) { return {"a GPU", major, 0, 132, 232448, std::int64_t{141} << 30}; }

TEST(KernelChoiceW4a16, TakesSm120KernelsOnSm12xAndSm90sOnSm90) {
  const auto blackwell = choose_kernels(gpu(12), {Precision::w4a16});
  ASSERT_TRUE(blackwell) << blackwell.error().message();
  EXPECT_EQ(blackwell->arch, Arch::sm_120);
  EXPECT_EQ(blackwell->policy, sm120::MmaPolicy::native);
  EXPECT_FALSE(blackwell->emulates_mma);
  EXPECT_EQ(choose_kernels(gpu(9), {Precision::w4a16}).value().arch, Arch::sm_90);
}

// Both GPUs have the MMA of w4a16: the flag is not needed, and changes nothing.
TEST(KernelChoiceW4a16, RunsSm120KernelsOnSm90WhereTheyAreAskedForWithNothingEmulated) {
  for (const bool emulate : {false, true}) {
    const auto choice = choose_kernels(gpu(9), {Precision::w4a16, Arch::sm_120, emulate});
    ASSERT_TRUE(choice) << choice.error().message();
    EXPECT_EQ(choice->arch, Arch::sm_120);
    EXPECT_EQ(choice->policy, sm120::MmaPolicy::emulated) << "those that are built for SM90";
    EXPECT_FALSE(choice->emulates_mma);
  }
  EXPECT_TRUE(choose_kernels(gpu(9), {Precision::w4a4, Arch::sm_120, true}).value().emulates_mma);
}

}  // namespace
}  // namespace tilewright::cuda
