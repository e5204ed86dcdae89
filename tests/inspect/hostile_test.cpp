// Files that mean harm, or were harmed: an error with a name or a note, in bounded time and memory.
#include <gtest/gtest.h>

#include "core/mapped_file.hpp"
#include "inspect/binary_bytes.hpp"
#include "inspect/limits.hpp"
#include "tilewright/binary_images.hpp"

namespace tilewright {
namespace {

using testing::Bytes;
using testing::Elf;
using testing::FatbinImage;
using testing::Fields;
using testing::Kernel;
using testing::Section;

Result<BinaryReport> read(const Bytes& bytes) {
  return read_binary_bytes(bytes.data(), bytes.size(), "test", {1, true});
}

Bytes fixture(const std::string& name) {
  const auto file = MappedFile::open(std::string(TILEWRIGHT_TEST_DATA) + "/inspect/" + name);
  if (!file) ADD_FAILURE() << file.error().message();
  return file ? Bytes(file->bytes().begin(), file->bytes().end()) : Bytes();
}

void expect_one_line(const Result<BinaryReport>& report) {
  const std::string message = report ? std::string() : report.error().message();
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

TEST(HostileFile, CutAnywhereIsAnErrorOrANote) {
  for (const char* name : {"several_targets.fatbin", "not_linked.o"}) {
    const Bytes whole = fixture(name);
    for (std::size_t size = 0; size < whole.size(); size += size < 512 ? 1 : 97) {
      // On the heap in its exact size, so that a sanitizer sees a read behind it.
      const auto report = read(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
      expect_one_line(report);
      if (!report) continue;
      bool noted = !report->notes.empty();
      for (const CodeImage& image : report->images) noted = noted || !image.notes.empty();
      EXPECT_TRUE(noted) << name << " cut to " << size << " of " << whole.size();
    }
  }
}

TEST(HostileFile, WithAnyByteOfItsTablesChangedIsRead) {
  Kernel second;
  second.name = "second";
  const Bytes cubin = testing::cubin(testing::second_convention(120, "-arch sm_120a "), {{}, second});
  for (const Bytes& whole : {cubin, testing::fatbin({{2, 120, 0x11, cubin}})}) {
    for (std::size_t at = 0; at < whole.size(); ++at) {
      for (const int value : {0x00, 0x7F, 0xFF}) {
        Bytes changed = whole;
        changed[at] = static_cast<std::uint8_t>(value);
        expect_one_line(read(changed));
      }
    }
  }
}

TEST(HostileElf, WithASectionTableBehindItsEndIsCorrupt) {
  Bytes file = elf_file(Elf{});
  testing::put(file, 40, ~std::uint64_t{0} - 8, 8);
  const auto report = read(file);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::corrupt);
  EXPECT_NE(report.error().message().find("cut short"), std::string::npos) << report.error().message();
}

TEST(HostileElf, WithACountOfSectionsThatWrapsIsCorrupt) {
  Bytes file = elf_file(Elf{});
  const std::uint64_t table = testing::field(file, 40, 8);
  testing::put(file, 60, 0, 2);  // the count is in section 0, and 64 of it wrap to 64
  testing::put(file, table + 32, (std::uint64_t{1} << 58U) + 1, 8);
  ASSERT_FALSE(read(file));
  EXPECT_EQ(read(file).error().code, ErrorCode::corrupt);
}

TEST(HostileElf, WithSectionsThatAllCoverItIsReadOnce) {
  Elf elf;
  for (int i = 0; i < 200; ++i) elf.sections.push_back({".nv_fatbin", 1, 0, {}, 0, 0, 0});
  elf.sections.push_back({".rodata", 1, 0, Bytes(4096, 0xAB), 0, 0, 0});
  Bytes file = elf_file(elf);
  const std::uint64_t table = testing::field(file, 40, 8);
  for (std::uint64_t i = 1; i <= 200; ++i) {
    testing::put(file, table + 64 * i + 24, 0, 8);
    testing::put(file, table + 64 * i + 32, file.size(), 8);
  }
  const auto report = read(file);
  ASSERT_TRUE(report) << report.error().message();
  bool said = false;
  for (const std::string& note : report->notes) said = said || note.find("sections overlap") != std::string::npos;
  EXPECT_TRUE(said);
  EXPECT_LE(static_cast<std::int64_t>(report->notes.size()), inspect::kMaxNotes + 1);
}

TEST(HostileCubin, WithKernelsThatShareOneCodeIsReadOnce) {
  Kernel kernel;
  kernel.code = Bytes(1 << 16);
  Bytes file = testing::cubin(testing::second_convention(120, ""), std::vector<Kernel>(8, kernel));
  const std::uint64_t table = testing::field(file, 40, 8);
  for (std::uint64_t i = 2; i < 18; i += 2) testing::put(file, table + 64 * i + 32, file.size() / 2, 8);
  for (std::uint64_t i = 2; i < 18; i += 2) testing::put(file, table + 64 * i + 24, 64, 8);
  const auto report = read(file);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->images.at(0).kernels.size(), 8U);
  EXPECT_NE(report->images[0].kernels.front().setmaxnreg, std::nullopt);
  EXPECT_EQ(report->images[0].kernels.back().setmaxnreg, std::nullopt);
}

TEST(HostileCubin, WithNamesThatAllSpanItsNamesStaysWithinThem) {
  std::vector<Kernel> kernels(40);
  kernels[0].name = std::string(30000, 'n');
  Bytes file = testing::cubin(testing::second_convention(120, ""), kernels);
  const std::uint64_t table = testing::field(file, 40, 8);
  const std::uint64_t sections = testing::field(file, 60, 2);
  for (std::uint64_t i = 0; i < sections; ++i) {
    if (testing::field(file, table + 64 * i + 4, 4) != 2) continue;  // SHT_SYMTAB
    const std::uint64_t symbols = testing::field(file, table + 64 * i + 24, 8);
    for (std::uint64_t k = 1; k <= 40; ++k) testing::put(file, symbols + 24 * k, 1, 4);  // all have the first's name
  }
  const auto report = read(file);
  ASSERT_TRUE(report);
  const auto& read_kernels = report->images.at(0).kernels;
  EXPECT_GE(read_kernels.size(), 8U);
  EXPECT_LT(read_kernels.size(), 16U);  // eight times the table of 30,000 bytes and a little
  for (const KernelInfo& info : read_kernels) EXPECT_EQ(info.symbol, kernels[0].name);
  EXPECT_FALSE(report->images[0].notes.empty());
}

TEST(HostileFatbin, WithASizeThatWrapsIsANote) {
  Bytes file = testing::fatbin({{2, 120, 0x11, Bytes(64)}});
  testing::put(file, 8, ~std::uint64_t{0}, 8);
  testing::put(file, 16 + 8, ~std::uint64_t{0} - 63, 8);  // with the entry's header, 0
  const auto report = read(file);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->images.empty());
  EXPECT_EQ(report->notes.size(), 2U);
}

TEST(HostileFatbin, WithAnEntryThatLeadsBackToItselfEnds) {
  Bytes file = testing::fatbin({{2, 120, 0x11, Bytes(64)}});
  testing::put(file, 16 + 4, 0, 4);  // no header and no payload: the next entry would be this one
  testing::put(file, 16 + 8, 0, 8);
  const auto report = read(file);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->images.empty());
}

TEST(HostileFatbin, WithAnImageThatUnpacksBeyondReasonSaysTheLimit) {
  FatbinImage bomb = testing::compressed({2, 120, 0x11, Bytes(64 << 20)}, testing::kZstd);
  ASSERT_LT(bomb.payload.size() * inspect::kMaxCompressionRatio, bomb.unpacked_bytes);
  FatbinImage boast = testing::compressed({2, 120, 0x11, Bytes(64)}, testing::kLz4);
  boast.unpacked_bytes = inspect::kMaxImageBytes + 1;
  const auto report = read(testing::fatbin({bomb, boast}));
  ASSERT_TRUE(report);
  ASSERT_EQ(report->images.size(), 2U);
  EXPECT_NE(report->images[0].notes.at(0).find("above the limit of 1000:1"), std::string::npos);
  EXPECT_NE(report->images[1].notes.at(0).find("above the limit of " + std::to_string(inspect::kMaxImageBytes)),
            std::string::npos);
}

TEST(HostileFatbin, WhoseImagesTogetherUnpackBeyondReasonIsRefused) {
  FatbinImage image = testing::compressed({2, 120, 0x11, Bytes(64)}, testing::kLz4);
  image.unpacked_bytes = inspect::kMaxUnpackedBytes / 4;
  const auto report = read(testing::fatbin(std::vector<FatbinImage>(5, image)));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::exhausted);
}

TEST(HostileFatbin, WithMoreImagesThanTheLimitIsRefused) {
  const Bytes entry = [] {
    const Bytes one = testing::fatbin({{8, 120, 0x11, {}}});
    return Bytes(one.begin() + 16, one.end());
  }();
  const std::size_t count = inspect::kMaxImages + 1;
  Fields file;
  file.u32(0xBA55ED50).u16(1).u16(16).u64(count * entry.size());
  for (std::size_t i = 0; i < count; ++i) file.raw(entry);
  const auto report = read(file.bytes());
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::exhausted);
  EXPECT_NE(report.error().message().find(std::to_string(inspect::kMaxImages)), std::string::npos);
}

TEST(HostileData, FullOfBeginningsOfCubinsIsSearchedToALimit) {
  Elf elf;
  const Bytes beginning = [] {
    Bytes cubin = testing::cubin(testing::second_convention(120, ""), {{}});
    cubin.resize(64);
    return cubin;
  }();
  Bytes data;
  for (int i = 0; i < 20000; ++i) data.insert(data.end(), beginning.begin(), beginning.end());
  elf.sections = {{".rodata", 1, 2, data, 0, 0, 0}};
  const auto report = read(elf_file(elf));
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->images.empty());
}

TEST(HostileFile, OfGarbageBehindAMagicIsRefused) {
  for (const char* magic : {"\177ELF", "!<arch>\n", "\x50\xed\x55\xba"}) {
    Bytes file = testing::bytes_of(magic);
    file.resize(4096, 0x5A);
    const auto report = read(file);
    expect_one_line(report);
    EXPECT_TRUE(!report || !report->notes.empty()) << magic;
  }
  EXPECT_FALSE(read(testing::bytes_of("PK\x03\x04 a zip of anything")));
}

}  // namespace
}  // namespace tilewright
