// Executables, libraries, objects and archives around fat binaries.
#include <gtest/gtest.h>

#include <algorithm>

#include "inspect/binary_bytes.hpp"
#include "support/temporary_directory.hpp"
#include "tilewright/binary_images.hpp"

namespace tilewright {
namespace {

using testing::Bytes;
using testing::Elf;
using testing::Fields;

Bytes small_cubin() { return testing::cubin(testing::second_convention(120, ""), {{}}); }
Bytes small_fatbin() { return testing::fatbin({{2, 120, 0x11, small_cubin()}}); }

Elf host(std::uint16_t type, const std::string& section, const Bytes& contents) {
  Elf elf;
  elf.type = type;
  elf.sections = {{".text", 1, 6, Bytes(64, 0x90), 0, 0, 0}, {section, 1, 2, contents, 0, 0, 0}};
  return elf;
}

Result<BinaryReport> read(const Bytes& bytes) { return read_binary_bytes(bytes.data(), bytes.size(), "test"); }

BinaryReport report_of(const Bytes& bytes) {
  auto report = read(bytes);
  if (!report) ADD_FAILURE() << report.error().message();
  return report ? *report : BinaryReport{};
}

TEST(HostFile, IsNamedByItsElfType) {
  EXPECT_EQ(report_of(elf_file(host(1, ".nv_fatbin", small_fatbin()))).kind, BinaryKind::elf_object);
  EXPECT_EQ(report_of(elf_file(host(2, ".nv_fatbin", small_fatbin()))).kind, BinaryKind::elf_executable);
  EXPECT_EQ(report_of(elf_file(host(3, ".nv_fatbin", small_fatbin()))).kind, BinaryKind::elf_shared);
}

TEST(HostFile, ThatIsPositionIndependentIsAProgramWhenItSaysSo) {
  Bytes file = elf_file(host(3, ".nv_fatbin", small_fatbin()));
  const std::uint64_t dynamic = file.size();
  const Bytes entries = Fields().u64(0x6ffffffb).u64(0x08000000).bytes();  // DT_FLAGS_1, DF_1_PIE
  file.insert(file.end(), entries.begin(), entries.end());
  const std::uint64_t programs = file.size();
  const Bytes program = Fields().u32(2).u32(4).u64(dynamic).u64(0).u64(0).u64(16).u64(16).u64(8).bytes();
  file.insert(file.end(), program.begin(), program.end());
  testing::put(file, 32, programs, 8);
  testing::put(file, 56, 1, 2);
  EXPECT_EQ(report_of(file).kind, BinaryKind::elf_executable);
  testing::put(file, dynamic + 8, 0, 8);
  EXPECT_EQ(report_of(file).kind, BinaryKind::elf_shared);
}

TEST(HostFile, KeepsItsImagesInTheSectionOfFatBinaries) {
  const Bytes file = elf_file(host(3, ".nv_fatbin", small_fatbin()));
  const BinaryReport report = report_of(file);
  EXPECT_EQ(report.containers, 1);
  ASSERT_EQ(report.images.size(), 1U);
  EXPECT_EQ(report.images[0].kernels.size(), 1U);
  const auto at = static_cast<std::ptrdiff_t>(report.images[0].file_offset);
  EXPECT_EQ(std::string(file.begin() + at, file.begin() + at + 4), "\177ELF");
}

TEST(HostFile, MayWaitForTheDeviceLinker) {
  EXPECT_EQ(report_of(elf_file(host(1, "__nv_relfatbin", small_fatbin()))).images.size(), 1U);
}

TEST(HostFile, MayCarryImagesAsArraysOfBytes) {
  Bytes data(37, 0x11);  // such an array stands at any byte
  const Bytes fatbin = small_fatbin();
  const Bytes cubin = small_cubin();
  data.insert(data.end(), fatbin.begin(), fatbin.end());
  data.insert(data.end(), 5, 0x22);
  data.insert(data.end(), cubin.begin(), cubin.end());
  data.insert(data.end(), 9, 0x33);
  const BinaryReport report = report_of(elf_file(host(3, ".rodata", data)));
  ASSERT_EQ(report.images.size(), 2U);
  EXPECT_EQ(report.images[0].container, 0);
  EXPECT_EQ(report.images[1].container, -1);
  EXPECT_EQ(report.images[1].bytes, static_cast<std::int64_t>(cubin.size()));
  for (const CodeImage& image : report.images) EXPECT_EQ(image.kernels.size(), 1U);
}

TEST(HostFile, ThatLostItsSectionTableIsSearchedByteByByte) {
  Bytes file = elf_file(host(3, ".nv_fatbin", small_fatbin()));
  testing::put(file, 40, 0, 8);  // e_shoff, e_shnum, e_shstrndx
  testing::put(file, 60, 0, 4);
  const BinaryReport report = report_of(file);
  EXPECT_EQ(report.images.size(), 1U);
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_EQ(report.notes[0], "no section table: searched byte by byte");
}

TEST(HostFile, WithoutGpuCodeHasNoImages) {
  const BinaryReport report = report_of(elf_file(host(3, ".rodata", Bytes(100))));
  EXPECT_TRUE(report.images.empty());
  EXPECT_TRUE(report.notes.empty());
}

TEST(HostFile, IsRefusedWhereItIsNot64BitLittleEndian) {
  Bytes file = elf_file(host(3, ".rodata", Bytes(100)));
  file[4] = 1;
  const auto report = read(file);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::unsupported);
  EXPECT_NE(report.error().message().find("class 1"), std::string::npos);
}

TEST(Archive, NamesTheMemberOfEachImage) {
  const Bytes object = elf_file(host(1, ".nv_fatbin", small_fatbin()));
  const std::string long_name = "a_file_with_a_long_name.cu.o";
  const Bytes file = testing::archive({{"short.o", object}, {"README", Bytes(7, 'x')}, {long_name, object}});
  const BinaryReport report = report_of(file);
  EXPECT_EQ(report.kind, BinaryKind::archive);
  EXPECT_EQ(report.containers, 2);
  ASSERT_EQ(report.images.size(), 2U);
  EXPECT_EQ(report.images[0].member, "short.o");
  EXPECT_EQ(report.images[1].member, long_name);
  EXPECT_EQ(report.images[1].container, 1);
  EXPECT_EQ(report.images[1].kernels.size(), 1U);
  const auto at = static_cast<std::ptrdiff_t>(report.images[1].file_offset);
  EXPECT_EQ(std::string(file.begin() + at, file.begin() + at + 4), "\177ELF");
}

TEST(Archive, TakesNamesOfTheBsdForm) {
  Bytes member = testing::bytes_of("bsd_name.o");
  member.resize(12);
  const Bytes object = elf_file(host(1, ".nv_fatbin", small_fatbin()));
  member.insert(member.end(), object.begin(), object.end());
  Bytes file = testing::archive({{"x", member}});
  const Bytes field = testing::bytes_of("x/              ");
  const auto at = std::search(file.begin(), file.end(), field.begin(), field.end());
  ASSERT_NE(at, file.end());
  const Bytes bsd = testing::bytes_of("#1/12           ");
  std::copy(bsd.begin(), bsd.end(), at);
  const BinaryReport report = report_of(file);
  ASSERT_EQ(report.images.size(), 1U);
  EXPECT_EQ(report.images[0].member, "bsd_name.o");
}

TEST(Archive, ThatIsThinIsRefusedWithTheReason) {
  const auto report = read(testing::bytes_of("!<thin>\nanything"));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::unsupported);
  EXPECT_NE(report.error().message().find("names of its members"), std::string::npos);
}

TEST(Archive, ThatIsCutShortStillTellsTheMembersBefore) {
  const Bytes object = elf_file(host(1, ".nv_fatbin", small_fatbin()));
  Bytes file = testing::archive({{"first.o", object}, {"second.o", object}});
  file.resize(file.size() - 10);
  const BinaryReport report = report_of(file);
  EXPECT_EQ(report.images.size(), 1U);
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_NE(report.notes[0].find("passes the archive's"), std::string::npos) << report.notes[0];
}

TEST(LooksLikeBinary, GoesByTheFirstBytesAndNotByTheName) {
  const testing::TemporaryDirectory directory;
  const auto text = [](const Bytes& bytes) { return std::string(bytes.begin(), bytes.end()); };
  EXPECT_TRUE(looks_like_binary(directory.write("weights.safetensors", text(small_cubin()))));
  EXPECT_TRUE(looks_like_binary(directory.write("notes.txt", text(small_fatbin()))));
  EXPECT_TRUE(looks_like_binary(directory.write("x", "!<arch>\n")));
  EXPECT_FALSE(looks_like_binary(directory.write("library.so", "not an ELF file")));
  EXPECT_FALSE(looks_like_binary(directory.write("empty.cubin", "")));
  EXPECT_FALSE(looks_like_binary(directory.file("absent.so")));
}

TEST(ReadBinary, SaysWhatItIsNot) {
  const testing::TemporaryDirectory directory;
  const std::string path = directory.write("library.so", "{\"a\": 1}");
  const auto report = read_binary(path);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::unsupported);
  EXPECT_EQ(report.error().message(), path +
                                          ": neither ELF nor an archive nor a fat binary; name an executable, a "
                                          "library, an object, a fatbin or a cubin");
  EXPECT_EQ(read_binary(directory.file("absent")).error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace tilewright
