#include "core/mapped_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/temporary_directory.hpp"

namespace tilewright {
namespace {

std::size_t page_size() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

TEST(MappedFile, HoldsTheBytesOfTheFile) {
  const testing::TemporaryDirectory directory;
  const auto file = MappedFile::open(directory.write("a", std::string("ab\0c", 4)));
  ASSERT_TRUE(file) << file.error().message();
  const std::vector<std::uint8_t> expected = {'a', 'b', 0, 'c'};
  EXPECT_TRUE(std::ranges::equal(file->bytes(), expected));
}

TEST(MappedFile, TakesAnEmptyFile) {
  const testing::TemporaryDirectory directory;
  const auto file = MappedFile::open(directory.write("empty", ""));
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_TRUE(file->bytes().empty());
  file->advise_sequential();
  file->release(file->bytes());
}

TEST(MappedFile, NamesThePathAndTheReasonWhenTheFileIsMissing) {
  const testing::TemporaryDirectory directory;
  const std::string path = directory.file("absent");
  const auto file = MappedFile::open(path);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::not_found);
  EXPECT_NE(file.error().cause.find(path), std::string::npos);
  EXPECT_NE(file.error().cause.find("No such file or directory"), std::string::npos);
}

TEST(MappedFile, RefusesADirectory) {
  const testing::TemporaryDirectory directory;
  const auto file = MappedFile::open(directory.path().string());
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::io);
  EXPECT_NE(file.error().cause.find("not a regular file"), std::string::npos);
}

TEST(MappedFile, KeepsItsBytesWhenMoved) {
  const testing::TemporaryDirectory directory;
  auto first = MappedFile::open(directory.write("a", "first"));
  auto second = MappedFile::open(directory.write("b", "second"));
  ASSERT_TRUE(first && second);
  const std::uint8_t* address = second->bytes().data();
  *first = std::move(*second);
  EXPECT_EQ(first->bytes().data(), address);
  EXPECT_EQ(first->bytes().size(), 6U);
}

TEST(MappedFile, ReadsTheSameBytesAfterARelease) {
  const testing::TemporaryDirectory directory;
  const std::string content(5 * page_size() + 7, 'x');
  const auto file = MappedFile::open(directory.write("pages", content));
  ASSERT_TRUE(file) << file.error().message();
  file->release(file->bytes().subspan(1, 3 * page_size()));
  EXPECT_TRUE(std::ranges::all_of(file->bytes(), [](std::uint8_t byte) { return byte == 'x'; }));
}

// Pages of the mapping that are in memory, from the Rss line of its entry in smaps.
std::size_t mapped_resident_pages(std::span<const std::uint8_t> bytes) {
  std::ifstream smaps("/proc/self/smaps");
  const std::string start = [&] {
    char text[32];
    std::snprintf(text, sizeof(text), "%lx-", reinterpret_cast<unsigned long>(bytes.data()));
    return std::string(text);
  }();
  std::string line;
  bool inside = false;
  while (std::getline(smaps, line)) {
    if (line.rfind(start, 0) == 0) inside = true;
    if (inside && line.rfind("Rss:", 0) == 0) return std::stoul(line.substr(4)) * 1024 / page_size();
  }
  return 0;
}

TEST(MappedFile, ReleasesOnlyTheWholePagesInsideTheRange) {
  const testing::TemporaryDirectory directory;
  const auto file = MappedFile::open(directory.write("pages", std::string(8 * page_size(), 'x')));
  ASSERT_TRUE(file) << file.error().message();
  ASSERT_TRUE(std::ranges::all_of(file->bytes(), [](std::uint8_t byte) { return byte == 'x'; }));
  const std::size_t before = mapped_resident_pages(file->bytes());
  if (before != 8) GTEST_SKIP() << "/proc/self/smaps does not count the pages of a mapping here";
  file->release(file->bytes().subspan(1, 3 * page_size()));  // touches pages 0 to 3, covers 1 and 2
  EXPECT_EQ(mapped_resident_pages(file->bytes()), 6U);
  file->release(file->bytes().subspan(10, 20));
  EXPECT_EQ(mapped_resident_pages(file->bytes()), 6U);
}

}  // namespace
}  // namespace tilewright
