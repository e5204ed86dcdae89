// Which kernels of a binary a device can launch. The reports are made by hand, with the names of real kernels.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "inspect/verdict.hpp"
#include "tilewright/binary_verdict.hpp"

namespace tilewright {
namespace {

std::string symbol_with(const std::string& part) {
  std::ifstream file(std::string(TILEWRIGHT_TEST_DATA) + "/inspect/kernel_names.tsv");
  for (std::string line; std::getline(file, line);) {
    if (line.front() != '#' && line.find(part) != std::string::npos) return line.substr(0, line.find('\t'));
  }
  ADD_FAILURE() << "no name with " << part;
  return {};
}

// 102,400 B on a part that has 101,376.
std::string failing() {
  return symbol_with(
      "tile=128x256x128 cluster=1x1 policy=MainloopSm120ArrayTmaWarpSpecializedBlockScaled "
      "schedule=KernelPtrArrayTmaWarpSpecializedCooperativeBlockScaledSm120<3> warps=cooperative stages=3/0/3/0 "
      "epilogue=Sm90PtrArrayTmaWarpSpecialized 64x32 2/2 fusion=ScaledAccPerColBias");
}
std::string fitting() { return symbol_with("89088\t"); }

KernelInfo kernel(const std::string& symbol) {
  KernelInfo info;
  info.symbol = symbol;
  info.registers = 168;
  info.max_block = BlockShape{384, 1, 1};
  info.static_shared_bytes = 0;
  info.griddep_wait = 1;
  info.griddep_launch = 1;
  info.code_bytes = 4096;
  return info;
}

CodeImage image(int number, char suffix, const std::vector<KernelInfo>& kernels, std::int64_t container = 0,
                ImageKind kind = ImageKind::cubin) {
  CodeImage image;
  image.kind = kind;
  image.target = {number, suffix};
  image.container = container;
  image.kernels = kernels;
  return image;
}

VerdictOptions on(int major, int minor) {
  VerdictOptions options;
  const auto device = verdict_device(ComputeCapability{major, minor});
  if (!device) ADD_FAILURE() << device.error().message();
  if (device) options.device = *device;
  return options;
}

BinaryVerdict judge(const std::vector<CodeImage>& images, const VerdictOptions& options) {
  BinaryReport report;
  report.images = images;
  return judge_binary(report, options);
}

KernelVerdict only(const std::vector<CodeImage>& images, const VerdictOptions& options) {
  BinaryVerdict verdict = judge(images, options);
  EXPECT_EQ(verdict.kernels.size(), 1U);
  return verdict.kernels.empty() ? KernelVerdict{} : verdict.kernels.front();
}

TEST(Verdict, OfAKernelThatFitsNamesItsBytesAndWhatIsLeft) {
  const KernelVerdict verdict = only({image(120, 'a', {kernel(fitting())})}, on(12, 0));
  EXPECT_EQ(verdict.code, VerdictCode::ok);
  EXPECT_EQ(verdict.dynamic_shared_bytes, 89088);
  EXPECT_EQ(verdict.message, "89088 B of shared memory, 12288 B to spare");
  EXPECT_TRUE(verdict.remedy.empty());
}

TEST(Verdict, OfTheFailingFinalizeKernelIsSmemOverBy1024WithRemedies) {
  const BinaryVerdict verdict = judge({image(120, 'f', {kernel(failing())})}, on(12, 1));
  ASSERT_EQ(verdict.kernels.size(), 1U);
  const KernelVerdict& kernel = verdict.kernels.front();
  EXPECT_EQ(kernel.code, VerdictCode::smem_over);
  EXPECT_EQ(kernel.over_bytes, 1024);
  EXPECT_EQ(kernel.shared_limit, 101376);
  EXPECT_NE(kernel.remedy.find("StageCount<2> (74752 B)"), std::string::npos) << kernel.remedy;
  EXPECT_NE(kernel.remedy.find("ElementC = void (94208 B)"), std::string::npos) << kernel.remedy;
  EXPECT_TRUE(verdict.stopped());
  EXPECT_EQ(verdict.count(VerdictCode::smem_over), 1);
}

TEST(Verdict, CountsStaticSharedMemoryToo) {
  KernelInfo info = kernel(fitting());
  info.static_shared_bytes = 12289;
  const KernelVerdict verdict = only({image(120, 'a', {info})}, on(12, 0));
  EXPECT_EQ(verdict.code, VerdictCode::smem_over);
  EXPECT_EQ(verdict.over_bytes, 1);
  EXPECT_NE(verdict.message.find("101377 B of shared memory (12289 of them static)"), std::string::npos)
      << verdict.message;
}

TEST(Verdict, OfAnArchitectureTargetOnItsNeighbourIsNoImageAndNotAMatterOfMemory) {
  const KernelVerdict verdict = only({image(120, 'a', {kernel(fitting())})}, on(12, 1));
  EXPECT_EQ(verdict.code, VerdictCode::no_image);
  EXPECT_EQ(verdict.message, "built for sm_120a; none of it runs on 12.1; its 89088 B of shared memory would fit");
  EXPECT_EQ(verdict.remedy, "build it with -gencode arch=compute_120f,code=sm_120f");
  EXPECT_FALSE(verdict.image);
}

// The public report: 79d compiled for sm_121, run on an RTX PRO 6000.
TEST(Verdict, OfAnSm121ImageOnAnSm120DeviceIsATargetMismatch) {
  const KernelVerdict verdict = only({image(121, '\0', {kernel(fitting())})}, on(12, 0));
  EXPECT_EQ(verdict.code, VerdictCode::no_image);
  EXPECT_NE(verdict.message.find("sm_121"), std::string::npos);
  EXPECT_EQ(verdict.message.find(" over"), std::string::npos) << verdict.message;
}

TEST(Verdict, OfNoImageForeseesThatTheRebuiltKernelWouldNotFitEither) {
  const KernelVerdict verdict = only({image(120, 'a', {kernel(failing())})}, on(12, 1));
  EXPECT_EQ(verdict.code, VerdictCode::no_image);
  EXPECT_NE(verdict.message.find("102400 B of shared memory, 1024 B over"), std::string::npos) << verdict.message;
}

TEST(Verdict, FollowsTheTargetsThatADeviceLoads) {
  struct Case {
    int number;
    char suffix;
    ImageKind kind;
    bool on_120;
    bool on_121;
  };
  for (const Case& each : {Case{120, 'a', ImageKind::cubin, true, false}, Case{120, 'f', ImageKind::cubin, true, true},
                           Case{120, '\0', ImageKind::cubin, true, true}, Case{121, 'a', ImageKind::cubin, false, true},
                           Case{90, '\0', ImageKind::cubin, false, false}, Case{90, '\0', ImageKind::ptx, true, true},
                           Case{120, 'a', ImageKind::ptx, true, false}, Case{90, 'a', ImageKind::ptx, false, false},
                           Case{120, '\0', ImageKind::lto_ir, false, false}}) {
    const std::vector<CodeImage> images = {image(each.number, each.suffix, {kernel("plain")}, 0, each.kind)};
    EXPECT_EQ(only(images, on(12, 0)).code != VerdictCode::no_image, each.on_120) << each.number << each.suffix;
    EXPECT_EQ(only(images, on(12, 1)).code != VerdictCode::no_image, each.on_121) << each.number << each.suffix;
  }
}

TEST(Verdict, IsOnTheImageThatTheDriverWouldLoad) {
  std::vector<KernelInfo> with_registers(5, kernel("k"));
  for (int i = 0; i < 5; ++i) with_registers[static_cast<std::size_t>(i)].registers = 10 + i;
  const std::vector<CodeImage> images = {image(90, '\0', {with_registers[0]}, 0, ImageKind::ptx),
                                         image(120, '\0', {with_registers[1]}), image(120, 'f', {with_registers[2]}),
                                         image(120, 'a', {with_registers[3]}), image(121, 'a', {with_registers[4]})};
  EXPECT_EQ(only(images, on(12, 0)).image, 3U);
  EXPECT_EQ(only(images, on(12, 1)).image, 4U);
  EXPECT_EQ(only(images, on(10, 0)).image, 0U);  // PTX, compiled by the driver
  EXPECT_EQ(only(images, on(12, 0)).images.size(), 5U);
}

TEST(Verdict, TakesMachineCodeBeforeNewerPtx) {
  const std::vector<CodeImage> images = {image(121, '\0', {kernel("k")}, 0, ImageKind::ptx),
                                         image(120, '\0', {kernel("k")})};
  EXPECT_EQ(only(images, on(12, 1)).image, 1U);
}

TEST(Verdict, OfAKernelThatTheLoadedImageLacksSaysSo) {
  const KernelVerdict verdict =
      judge({image(120, '\0', {kernel("here")}), image(90, 'a', {kernel("elsewhere")})}, on(12, 0)).kernels.at(1);
  EXPECT_EQ(verdict.code, VerdictCode::no_image);
  EXPECT_NE(verdict.message.find("the driver loads sm_120, which does not hold it"), std::string::npos)
      << verdict.message;
}

TEST(Verdict, KeepsFatBinariesApart) {
  const BinaryVerdict verdict = judge({image(120, 'a', {kernel("k")}, 0), image(90, 'a', {kernel("k")}, 1)}, on(12, 0));
  ASSERT_EQ(verdict.kernels.size(), 2U);
  EXPECT_EQ(verdict.count(VerdictCode::unknown_smem), 1);
  EXPECT_EQ(verdict.count(VerdictCode::no_image), 1);
  EXPECT_EQ(verdict.symbols.size(), 1U);
}

TEST(Verdict, LeavesOutWhatWasLinkedIntoAnotherImage) {
  CodeImage object = image(120, 'a', {kernel("k")}, 0);
  object.relocatable = true;
  EXPECT_EQ(judge({object, image(120, 'a', {kernel("k")}, 1)}, on(12, 0)).kernels.size(), 1U);
  EXPECT_EQ(judge({object}, on(12, 0)).kernels.size(), 1U);  // nothing was linked: the object is what there is
}

// CUTLASS guards a kernel's body by its architecture: what is left in another image does nothing.
TEST(Verdict, OfAKernelOfAnotherArchitectureIsNoImageThoughAnImageLoads) {
  const std::string sm100 = symbol_with("cutlass_gemm sm_100 dense A=nvfp4");
  const KernelVerdict verdict = only({image(120, 'a', {kernel(sm100)})}, on(12, 0));
  EXPECT_EQ(verdict.code, VerdictCode::no_image);
  EXPECT_NE(verdict.message.find("made of sm_100's instructions"), std::string::npos) << verdict.message;
  EXPECT_NE(verdict.remedy.find("none by flags"), std::string::npos) << verdict.remedy;
  EXPECT_EQ(only({image(100, 'f', {kernel(sm100)})}, on(10, 3)).code, VerdictCode::ok);
}

TEST(Verdict, OfOtherKernelsDoesNotGuessTheirDynamicSharedMemory) {
  const KernelVerdict verdict = only({image(120, '\0', {kernel("_Z6kernelPf")})}, on(12, 0));
  EXPECT_EQ(verdict.code, VerdictCode::unknown_smem);
  EXPECT_FALSE(verdict.dynamic_shared_bytes);
  EXPECT_FALSE(stops_launch(verdict.code));
}

TEST(Verdict, OfRegistersCountsWholeWarpsInUnitsOf256) {
  EXPECT_EQ(inspect::block_registers(168, 384), 64512);
  EXPECT_EQ(inspect::block_registers(33, 33), 2 * 1280);
  KernelInfo info = kernel("k");
  info.registers = 168;
  info.required_block = BlockShape{13, 32, 1};  // 416 threads
  KernelVerdict verdict = only({image(120, '\0', {info})}, on(12, 0));
  EXPECT_EQ(verdict.code, VerdictCode::registers_over);
  EXPECT_NE(verdict.message.find("168 registers x 416 threads take 69888 of a block's 65536, 4352 over"),
            std::string::npos)
      << verdict.message;
  info.required_block.reset();
  info.registers = 256;
  verdict = only({image(120, '\0', {info})}, on(12, 0));
  EXPECT_EQ(verdict.code, VerdictCode::registers_over);
  EXPECT_EQ(verdict.message, "256 registers a thread, of 255");
}

TEST(Verdict, UnderPdlWantsAWaitAndBelievesNoSilence) {
  KernelInfo info = kernel(fitting());
  info.griddep_wait = 0;
  VerdictOptions options = on(12, 0);
  EXPECT_EQ(only({image(120, 'a', {info})}, options).code, VerdictCode::ok);
  options.pdl = true;
  const KernelVerdict verdict = only({image(120, 'a', {info})}, options);
  EXPECT_EQ(verdict.code, VerdictCode::pdl_without_wait);
  EXPECT_NE(verdict.remedy.find("CUTLASS_ENABLE_GDC_FOR_SM100=1"), std::string::npos) << verdict.remedy;
  info.griddep_wait.reset();  // the code was not looked at
  EXPECT_EQ(only({image(120, 'a', {info})}, options).code, VerdictCode::ok);
  info.griddep_wait = 2;
  EXPECT_EQ(only({image(120, 'a', {info})}, options).code, VerdictCode::ok);
}

TEST(Verdict, WithoutADeviceHoldsAKernelAgainstItsOwnArchitecture) {
  EXPECT_EQ(only({image(120, 'a', {kernel(failing())})}, {}).code, VerdictCode::smem_over);
  EXPECT_EQ(only({image(120, 'a', {kernel(fitting())})}, {}).code, VerdictCode::ok);
  EXPECT_EQ(only({image(75, '\0', {kernel("k")})}, {}).code, VerdictCode::unknown_smem);
}

TEST(VerdictDevice, IsKnownByNameAndByComputeCapability) {
  const auto gb10 = verdict_device(std::string("gb10"));
  ASSERT_TRUE(gb10) << gb10.error().message();
  EXPECT_EQ(to_string(gb10->capability), "12.1");
  EXPECT_EQ(gb10->smem_per_block, 101376);
  EXPECT_EQ(gb10->registers_per_block, 65536);
  EXPECT_EQ(gb10->registers_per_thread, 255);
  const auto hopper = verdict_device(ComputeCapability{9, 0});
  ASSERT_TRUE(hopper) << hopper.error().message();
  EXPECT_EQ(hopper->smem_per_block, 232448);
  const auto old = verdict_device(ComputeCapability{7, 5});
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace tilewright
