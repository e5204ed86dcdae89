// Images that nvcc 13.0 wrote from probe.cu. The expected numbers are those that `ptxas -v` printed.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/mapped_file.hpp"
#include "inspect/unpack.hpp"
#include "tilewright/binary_images.hpp"

namespace tilewright {
namespace {

const std::string kData = std::string(TILEWRIGHT_TEST_DATA) + "/inspect/";

BinaryReport read(const std::string& name) {
  auto report = read_binary(kData + name);
  if (!report) ADD_FAILURE() << report.error().message();
  return report ? *report : BinaryReport{};
}

const CodeImage& image_for(const BinaryReport& report, const std::string& target) {
  for (const CodeImage& image : report.images) {
    if (to_string(image.target, image.kind) == target) return image;
  }
  ADD_FAILURE() << "no image for " << target;
  static const CodeImage kNone;
  return kNone;
}

const KernelInfo& kernel(const CodeImage& image, const std::string& symbol) {
  for (const KernelInfo& info : image.kernels) {
    if (info.symbol == symbol) return info;
  }
  ADD_FAILURE() << "no kernel " << symbol;
  static const KernelInfo kNone;
  return kNone;
}

TEST(RealFatbin, HoldsAnImageForEachTargetThatItWasCompiledFor) {
  const BinaryReport report = read("several_targets.fatbin");
  EXPECT_EQ(report.kind, BinaryKind::fatbin);
  EXPECT_EQ(report.containers, 1);
  EXPECT_TRUE(report.notes.empty());
  std::vector<std::string> targets;
  for (const CodeImage& image : report.images) {
    targets.push_back(to_string(image.target, image.kind));
    EXPECT_EQ(image.compression, "zstd");
    EXPECT_EQ(image.container, 0);
    EXPECT_EQ(image.kernels.size(), 7U);
    EXPECT_TRUE(image.notes.empty());
    EXPECT_FALSE(image.relocatable);
  }
  std::sort(targets.begin(), targets.end());
  EXPECT_EQ(targets, (std::vector<std::string>{"compute_120f", "sm_100a", "sm_120f", "sm_121a", "sm_90a"}));
  EXPECT_EQ(image_for(report, "sm_90a").version, "13.0");
  EXPECT_EQ(image_for(report, "compute_120f").version, "9.0");
}

TEST(RealCubin, TellsWhatPtxasPrinted) {
  const BinaryReport report = read("several_targets.fatbin");
  const CodeImage& hopper = image_for(report, "sm_90a");
  EXPECT_EQ(kernel(hopper, "plain").registers, 8);
  EXPECT_EQ(kernel(hopper, "plain").static_shared_bytes, 0);
  EXPECT_EQ(kernel(hopper, "plain").parameter_bytes, 8);
  EXPECT_EQ(kernel(hopper, "shares").static_shared_bytes, 4000);
  EXPECT_EQ(kernel(hopper, "shares").barriers, 1);
  EXPECT_EQ(kernel(hopper, "specialized").registers, 168);
  EXPECT_EQ(kernel(hopper, "specialized").max_block->threads(), 384);
  EXPECT_EQ(kernel(hopper, "spills").registers, 64);
  EXPECT_EQ(kernel(hopper, "spills").stack_bytes, 200);
  const CodeImage& blackwell = image_for(report, "sm_120f");
  EXPECT_EQ(kernel(blackwell, "shares").static_shared_bytes, 4000);
  EXPECT_EQ(kernel(blackwell, "spills").stack_bytes, 208);
  EXPECT_EQ(kernel(blackwell, "plain").constant_bytes, 904);
}

TEST(RealCubin, TellsSpillsFromArraysThatNoRegisterCouldHold) {
  const BinaryReport report = read("several_targets.fatbin");
  const CodeImage& hopper = image_for(report, "sm_90a");
  EXPECT_EQ(kernel(hopper, "spills").spill_store_bytes, 272);
  EXPECT_EQ(kernel(hopper, "spills").spill_load_bytes, 280);
  const CodeImage& blackwell = image_for(report, "sm_121a");
  EXPECT_EQ(kernel(blackwell, "spills").spill_store_bytes, 232);
  EXPECT_EQ(kernel(blackwell, "spills").spill_load_bytes, 248);
  EXPECT_EQ(kernel(blackwell, "indexes").spill_store_bytes, 0);
  EXPECT_EQ(kernel(blackwell, "indexes").stack_bytes, 256);
  EXPECT_GT(kernel(blackwell, "indexes").local_memory_stores, 0);
}

TEST(RealImage, TellsRegisterHandoverAndDependentLaunchOnEveryTarget) {
  const BinaryReport report = read("several_targets.fatbin");
  for (const CodeImage& image : report.images) {
    SCOPED_TRACE(to_string(image.target, image.kind));
    EXPECT_EQ(kernel(image, "specialized").setmaxnreg, 2);
    EXPECT_EQ(kernel(image, "plain").setmaxnreg, 0);
    EXPECT_EQ(kernel(image, "waits").griddep_wait, 1);
    EXPECT_EQ(kernel(image, "waits").griddep_launch, 0);
    EXPECT_EQ(kernel(image, "releases").griddep_wait, 0);
    EXPECT_EQ(kernel(image, "releases").griddep_launch, 1);
    const auto loads = image.kind == ImageKind::cubin ? std::optional(1) : std::nullopt;
    EXPECT_EQ(kernel(image, "shares").shared_memory_loads, loads);
  }
}

TEST(RealCubin, KeepsItsTargetWithoutItsFatBinary) {
  const auto file = MappedFile::open(kData + "several_targets.fatbin");
  ASSERT_TRUE(file);
  for (const CodeImage& image : read("several_targets.fatbin").images) {
    if (image.kind != ImageKind::cubin) continue;
    inspect::UnpackBuffer buffer;
    const auto bytes = inspect::unpack(inspect::ByteView(file->bytes().subspan(image.file_offset, image.stored_bytes)),
                                       image.compression, image.bytes, buffer);
    ASSERT_TRUE(bytes);
    const auto alone = read_binary_bytes(bytes->bytes().data(), bytes->size(), "alone");
    ASSERT_TRUE(alone) << alone.error().message();
    EXPECT_EQ(alone->kind, BinaryKind::cubin);
    ASSERT_EQ(alone->images.size(), 1U);
    EXPECT_EQ(to_string(alone->images[0].target, alone->images[0].kind), to_string(image.target, image.kind));
    EXPECT_EQ(alone->images[0].container, -1);
    EXPECT_EQ(alone->images[0].kernels.size(), image.kernels.size());
  }
}

TEST(RealPtx, TellsEntriesAndLaunchBoundsButNoRegisters) {
  const BinaryReport report = read("several_targets.fatbin");
  const KernelInfo& specialized = kernel(image_for(report, "compute_120f"), "specialized");
  EXPECT_EQ(specialized.registers, std::nullopt);
  EXPECT_EQ(specialized.static_shared_bytes, std::nullopt);
  EXPECT_EQ(specialized.max_block->threads(), 384);
  EXPECT_EQ(specialized.min_blocks_per_sm, 1);
  EXPECT_EQ(specialized.parameter_bytes, 8);
}

TEST(RealObject, OfSeparateCompilationIsNotLinkedAndHasLostSetmaxnreg) {
  const BinaryReport report = read("not_linked.o");
  EXPECT_EQ(report.kind, BinaryKind::elf_object);
  ASSERT_EQ(report.images.size(), 1U);
  const CodeImage& image = report.images[0];
  EXPECT_TRUE(image.relocatable);
  EXPECT_EQ(to_string(image.target, image.kind), "sm_90a");
  EXPECT_EQ(kernel(image, "shares").static_shared_bytes, 4000);  // the linker has not added the driver's share yet
  EXPECT_EQ(kernel(image, "specialized").setmaxnreg, 0);         // ptxas C7504: ignored, as it said when compiling
}

TEST(RealImage, IsTheSameForAnyNumberOfThreads) {
  for (const int threads : {0, 1, 7}) {
    const auto report = read_binary(kData + "several_targets.fatbin", {threads, true});
    ASSERT_TRUE(report);
    ASSERT_EQ(report->images.size(), 5U);
    EXPECT_EQ(kernel(image_for(*report, "sm_120f"), "spills").spill_load_bytes, 248);
  }
}

TEST(RealImage, LeavesInstructionsUntoldWhereTheCodeIsNotScanned) {
  const auto report = read_binary(kData + "several_targets.fatbin", {1, false});
  ASSERT_TRUE(report);
  for (const CodeImage& image : report->images) {
    EXPECT_EQ(kernel(image, "specialized").setmaxnreg, std::nullopt);
    EXPECT_EQ(kernel(image, "spills").spill_load_bytes, std::nullopt);
    EXPECT_EQ(kernel(image, "waits").griddep_wait, std::nullopt);
  }
}

}  // namespace
}  // namespace tilewright
