// Which kernels run a layer on which GPU, without one.
#include "cuda/moe/kernel_choice.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tilewright::cuda {
namespace {

GpuInfo gpu(int major, int minor) { return {"a GPU", major, minor, 100, 101376, std::int64_t{96} << 30}; }

void expect_refused(const GpuInfo& on, const CudaLayerOptions& options, ErrorCode code, const std::string& says) {
  const auto choice = choose_kernels(on, options);
  ASSERT_FALSE(choice);
  EXPECT_EQ(choice.error().code, code) << choice.error().message();
  EXPECT_NE(choice.error().message().find(says), std::string::npos) << choice.error().message();
}

TEST(KernelChoice, TakesTheGpusOwnKernelsWhereNoneAreNamed) {
  const auto hopper = choose_kernels(gpu(9, 0), {});
  ASSERT_TRUE(hopper);
  EXPECT_EQ(hopper->arch, Arch::sm_90);
  for (const int minor : {0, 1}) {
    const auto blackwell = choose_kernels(gpu(12, minor), {Precision::w4a4, {}, false});
    ASSERT_TRUE(blackwell);
    EXPECT_EQ(blackwell->arch, Arch::sm_120);
    EXPECT_EQ(blackwell->policy, sm120::MmaPolicy::native);
  }
  const auto spark = choose_kernels(gpu(12, 1), {Precision::w4a4, Arch::sm_121, false});
  ASSERT_TRUE(spark);
  EXPECT_EQ(spark->arch, Arch::sm_120);
}

TEST(KernelChoice, EmulatesTheMmaOnHopperAlone) {
  const auto emulated = choose_kernels(gpu(9, 0), {Precision::w4a4, Arch::sm_120, true});
  ASSERT_TRUE(emulated);
  EXPECT_EQ(emulated->arch, Arch::sm_120);
  EXPECT_EQ(emulated->policy, sm120::MmaPolicy::emulated);
  expect_refused(gpu(9, 0), {Precision::w4a4, Arch::sm_120, false}, ErrorCode::unsupported, "--emulate-mma");
  expect_refused(gpu(9, 0), {Precision::w4a16, {}, true}, ErrorCode::invalid_argument, "emulate");
  expect_refused(gpu(12, 0), {Precision::w4a4, {}, true}, ErrorCode::invalid_argument, "12.0");
}

TEST(KernelChoice, NamesWhatCannotRunAndWhatCan) {
  expect_refused(gpu(8, 0), {}, ErrorCode::unsupported, "8.0");
  expect_refused(gpu(10, 0), {}, ErrorCode::unsupported, "10.0");
  expect_refused(gpu(12, 0), {Precision::w4a16, Arch::sm_90, false}, ErrorCode::unsupported, "9.0 alone");
  expect_refused(gpu(9, 0), {Precision::w4a16, Arch::sm_100, false}, ErrorCode::unsupported, "sm_100");
  expect_refused(gpu(9, 0), {Precision::w4a4, {}, false}, ErrorCode::unsupported, "no FP4 tensor cores");
}

TEST(KernelChoice, TakesItsOwnKernelsForW4a16) {
  const auto blackwell = choose_kernels(gpu(12, 0), {Precision::w4a16});
  ASSERT_TRUE(blackwell) << blackwell.error().message();
  EXPECT_EQ(blackwell->arch, Arch::sm_120);
  EXPECT_EQ(blackwell->policy, sm120::MmaPolicy::native);
  EXPECT_FALSE(blackwell->emulates_mma);
  EXPECT_EQ(choose_kernels(gpu(9, 0), {Precision::w4a16}).value().arch, Arch::sm_90);
}

// Both GPUs have w4a16's MMA: the flag is not needed, and changes nothing.
TEST(KernelChoice, RunsW4a16OfSm120OnHopperWithNothingEmulated) {
  for (const bool emulate : {false, true}) {
    const auto choice = choose_kernels(gpu(9, 0), {Precision::w4a16, Arch::sm_120, emulate});
    ASSERT_TRUE(choice) << choice.error().message();
    EXPECT_EQ(choice->arch, Arch::sm_120);
    EXPECT_EQ(choice->policy, sm120::MmaPolicy::emulated) << "those that are built for SM90";
    EXPECT_FALSE(choice->emulates_mma);
  }
  EXPECT_TRUE(choose_kernels(gpu(9, 0), {Precision::w4a4, Arch::sm_120, true}).value().emulates_mma);
}

}  // namespace
}  // namespace tilewright::cuda
