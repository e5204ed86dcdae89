#include <gtest/gtest.h>

#include <algorithm>

#include "inspect/binary_bytes.hpp"
#include "tilewright/binary_images.hpp"

namespace tilewright {
namespace {

using testing::attribute;
using testing::attribute_value;
using testing::Bytes;
using testing::Elf;
using testing::Fields;
using testing::instruction;
using testing::Kernel;

CodeImage image_of(const Bytes& bytes) {
  const auto report = read_binary_bytes(bytes.data(), bytes.size(), "test");
  if (!report) {
    ADD_FAILURE() << report.error().message();
    return {};
  }
  EXPECT_EQ(report->kind, BinaryKind::cubin);
  return report->images.size() == 1 ? report->images[0] : CodeImage{};
}

std::string target_of(const Elf& elf) {
  const CodeImage image = image_of(testing::cubin(elf, {{}}));
  return to_string(image.target, image.kind);
}

TEST(CubinTarget, StandsInTheLowFlagsOfTheFirstConvention) {
  EXPECT_EQ(target_of(testing::first_convention(80, false, 129)), "sm_80");
  EXPECT_EQ(target_of(testing::first_convention(90, true, 129)), "sm_90a");
  EXPECT_EQ(image_of(testing::cubin(testing::first_convention(90, true, 129), {{}})).version, "12.9");
}

TEST(CubinTarget, HasNoSuffixBeforeHopperWhateverTheBitSays) {
  EXPECT_EQ(target_of(testing::first_convention(50, true, 128)), "sm_50");
}

TEST(CubinTarget, StandsInTheNextFlagsOfTheSecondConvention) {
  EXPECT_EQ(target_of(testing::second_convention(120, "")), "sm_120");
  Elf early = testing::second_convention(100, "");
  early.flags |= 0x8;  // CUDA 12.9
  EXPECT_EQ(target_of(early), "sm_100a");
  Elf late = testing::second_convention(121, "");
  late.sections.push_back({".nv.compat", 0x70000086, 0, attribute_value(2, 0x09, 1), 0, 0, 0});
  EXPECT_EQ(target_of(late), "sm_121a");
}

TEST(CubinTarget, OfAFamilyStandsInTheCommandLineOfTheCompiler) {
  const std::string note =
      std::string("ptxas") + '\0' + "Cuda compilation tools, release 13.0, V13.0.88" + '\0' + "-arch sm_120f -m 64 ";
  EXPECT_EQ(target_of(testing::second_convention(120, note)), "sm_120f");
  EXPECT_EQ(image_of(testing::cubin(testing::second_convention(120, note), {{}})).version, "13.0");
  // ... and is not believed where it is that of another target.
  EXPECT_EQ(target_of(testing::second_convention(100, note)), "sm_100");
}

TEST(CubinTarget, OfAnUnknownConventionIsANote) {
  Elf elf = testing::second_convention(120, "");
  elf.os_abi = 0x55;
  const CodeImage image = image_of(testing::cubin(elf, {{}}));
  EXPECT_EQ(image.target.number, 0);
  ASSERT_EQ(image.notes.size(), 1U);
  EXPECT_NE(image.notes[0].find("unknown convention (OS ABI 0x55"), std::string::npos) << image.notes[0];
  EXPECT_EQ(image.kernels.size(), 1U);
  EXPECT_EQ(image.kernels[0].setmaxnreg, std::nullopt);  // nor is the encoding known
}

TEST(CubinKernel, HasNoDriversShareOfSharedMemoryCountedFromHopperOn) {
  Kernel kernel;
  kernel.shared_section_bytes = 1024 + 400;
  EXPECT_EQ(image_of(testing::cubin(testing::first_convention(90, true, 129), {kernel})).kernels[0].static_shared_bytes,
            400);
  EXPECT_EQ(
      image_of(testing::cubin(testing::first_convention(80, false, 129), {kernel})).kernels[0].static_shared_bytes,
      1424);
  Elf object = testing::first_convention(90, true, 129);
  object.type = 1;  // the linker adds it
  EXPECT_EQ(image_of(testing::cubin(object, {kernel})).kernels[0].static_shared_bytes, 1424);
}

TEST(CubinKernel, TellsBarriersByRecordOrByTheFlagsOfItsCode) {
  Kernel by_record;
  by_record.attributes = attribute_value(2, 0x4c, 6);
  EXPECT_EQ(image_of(testing::cubin(testing::second_convention(120, ""), {by_record})).kernels[0].barriers, 6);
  Kernel by_flags;
  by_flags.code_flags = 7U << 20U | 6U;
  EXPECT_EQ(image_of(testing::cubin(testing::first_convention(90, true, 129), {by_flags})).kernels[0].barriers, 7);
}

TEST(CubinKernel, TellsRegistersByItsCodeWhereTheAssemblerLeftThemOutOfTheRecords) {
  Kernel kernel;
  kernel.registers = 0;
  kernel.code_info = 98U << 24U | 3U;
  EXPECT_EQ(image_of(testing::cubin(testing::second_convention(75, ""), {kernel})).kernels[0].registers, 98);
}

TEST(CubinKernel, TellsItsLaunchBoundsAndParameters) {
  Kernel kernel;
  kernel.attributes = attribute(0x05, Fields().u32(384).u32(1).u32(1).bytes());
  for (const Bytes& more : {attribute(0x10, Fields().u32(32).u32(4).u32(2).bytes()), attribute_value(3, 0x19, 576)}) {
    kernel.attributes.insert(kernel.attributes.end(), more.begin(), more.end());
  }
  const KernelInfo info = image_of(testing::cubin(testing::second_convention(100, ""), {kernel})).kernels.at(0);
  EXPECT_EQ(info.max_block->threads(), 384);
  EXPECT_EQ(info.required_block->threads(), 256);
  EXPECT_EQ(info.parameter_bytes, 576);
}

TEST(CubinKernel, CountsInstructionsByOpcode) {
  Kernel kernel;
  kernel.code.clear();
  for (const int opcode :
       {0x79c8, 0x79c8, 0x782e, 0x782d, 0x7983, 0x7387, 0x7987, 0x7984, 0x7984, 0x7984, 0x723c, 0x7918}) {
    const Bytes word = instruction(static_cast<std::uint16_t>(opcode));
    kernel.code.insert(kernel.code.end(), word.begin(), word.end());
  }
  const KernelInfo info = image_of(testing::cubin(testing::second_convention(120, ""), {kernel})).kernels.at(0);
  EXPECT_EQ(info.setmaxnreg, 2);
  EXPECT_EQ(info.griddep_wait, 1);
  EXPECT_EQ(info.griddep_launch, 1);
  EXPECT_EQ(info.local_memory_loads, 1);
  EXPECT_EQ(info.local_memory_stores, 2);
  EXPECT_EQ(info.shared_memory_loads, 3);
  EXPECT_EQ(info.half_mma, 1);
  EXPECT_EQ(info.code_bytes, 192);
}

TEST(CubinKernel, AddsUpTheBytesOfThePlacesThatSpill) {
  Kernel kernel;
  kernel.frame_bytes = 64;
  kernel.code.clear();
  const std::uint64_t bits128 = 6U << 9U;
  const std::uint64_t bits32 = 4U << 9U;
  for (const Bytes& word : {instruction(0x7387, bits128), instruction(0x7983, bits32), instruction(0x7387, bits32)}) {
    kernel.code.insert(kernel.code.end(), word.begin(), word.end());
  }
  // The third instruction is a store to an array: no place names it. Places outside the code are passed over.
  kernel.attributes = attribute(0x55, Fields().u32(1).u32(0).u32(1).u32(16).u32(1).u32(4000).u32(2).u32(32).bytes());
  const KernelInfo info = image_of(testing::cubin(testing::second_convention(120, ""), {kernel})).kernels.at(0);
  EXPECT_EQ(info.spill_store_bytes, 16);
  EXPECT_EQ(info.spill_load_bytes, 4);
}

TEST(CubinKernel, DoesNotTellSpillsWhereAnOldToolkitDidNotSay) {
  Kernel kernel;
  kernel.frame_bytes = 64;
  const auto spills = [&](std::uint32_t toolkit) {
    return image_of(testing::cubin(testing::first_convention(90, true, toolkit), {kernel}))
        .kernels.at(0)
        .spill_store_bytes;
  };
  EXPECT_EQ(spills(120), std::nullopt);
  EXPECT_EQ(spills(129), 0);
  kernel.frame_bytes = 0;  // without a stack there is nowhere to spill to
  EXPECT_EQ(spills(120), 0);
}

TEST(CubinKernel, IsAnEntryPointAndNoOtherFunction) {
  Bytes bytes = testing::cubin(testing::second_convention(120, ""), {{}, {}});
  const CodeImage both = image_of(bytes);
  EXPECT_EQ(both.kernels.size(), 2U);
  // The second symbol's st_other without the mark of an entry point.
  const Bytes symbol = Fields().u32(3).u8(0x12).u8(0x10).bytes();
  const auto at = std::search(bytes.begin(), bytes.end(), symbol.begin(), symbol.end());
  ASSERT_NE(at, bytes.end());
  *(at + 5) = 0;
  EXPECT_EQ(image_of(bytes).kernels.size(), 1U);
}

TEST(CubinKernel, IsFoundWhereThereAreMoreSectionsThanAHeaderOrASymbolCanCount) {
  Elf elf = testing::second_convention(120, "");
  constexpr std::uint64_t kCodeSection = 3;  // behind the note and the table of indices
  elf.sections.push_back({".symtab_shndx", 18, 0, Fields().u32(0).u32(kCodeSection).bytes(), 0, 0, 0});
  Bytes bytes = testing::cubin(elf, {{}});
  const std::uint64_t table = testing::field(bytes, 40, 8);
  const std::uint64_t sections = testing::field(bytes, 60, 2);
  const std::uint64_t names = testing::field(bytes, 62, 2);
  for (std::uint64_t i = 0; i < sections; ++i) {
    if (testing::field(bytes, table + 64 * i + 4, 4) != 2) continue;  // SHT_SYMTAB
    const std::uint64_t symbol = testing::field(bytes, table + 64 * i + 24, 8) + 24;
    ASSERT_EQ(testing::field(bytes, symbol + 6, 2), kCodeSection);
    testing::put(bytes, symbol + 6, 0xffff, 2);
  }
  testing::put(bytes, 60, 0, 2);  // section 0 holds both
  testing::put(bytes, 62, 0xffff, 2);
  testing::put(bytes, table + 32, sections, 8);
  testing::put(bytes, table + 40, names, 4);
  const CodeImage image = image_of(bytes);
  ASSERT_EQ(image.kernels.size(), 1U);
  EXPECT_EQ(image.kernels[0].code_bytes, 128);
  EXPECT_EQ(image.kernels[0].registers, 32);
}

TEST(CubinKernel, MayHaveAVeryLongName) {
  Kernel kernel;
  kernel.name = "_Z" + std::string(20000, 'x');
  const CodeImage image = image_of(testing::cubin(testing::second_convention(120, ""), {kernel}));
  ASSERT_EQ(image.kernels.size(), 1U);
  EXPECT_EQ(image.kernels[0].symbol, kernel.name);
  EXPECT_EQ(image.kernels[0].registers, 32);
}

}  // namespace
}  // namespace tilewright
