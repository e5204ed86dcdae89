// The source tree keeps the rules of source_rules.hpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "architecture/source_rules.hpp"

namespace tilewright::architecture {
namespace {

namespace fs = std::filesystem;

struct SourceFile {
  std::string path;  // from the repository root
  std::string text;
};

bool is_source(const fs::path& path) {
  static constexpr std::array<std::string_view, 8> kExtensions = {".hpp", ".cpp", ".h",  ".cu",
                                                                  ".cuh", ".py",  ".sh", ".c"};
  const std::string extension = path.extension().string();
  return std::find(kExtensions.begin(), kExtensions.end(), extension) != kExtensions.end();
}

std::vector<SourceFile> sources_under(const std::vector<std::string>& folders) {
  const fs::path root = TILEWRIGHT_SOURCE_DIR;
  std::vector<SourceFile> found;
  for (const std::string& folder : folders) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (!entry.is_regular_file() || !is_source(entry.path())) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      found.push_back(
          {fs::relative(entry.path(), root).generic_string(), std::string(std::istreambuf_iterator<char>(in), {})});
    }
  }
  return found;
}

TEST(SourceTree, IncludesPointLeft) {
  const auto sources = sources_under({"include", "src", "tools"});
  ASSERT_GT(sources.size(), 20U) << "scanned the wrong folder: " << TILEWRIGHT_SOURCE_DIR;
  for (const SourceFile& file : sources) {
    for (const std::string& violation : include_violations(file.path, file.text)) ADD_FAILURE() << violation;
  }
}

TEST(SourceTree, FilesStayWithinTheirLength) {
  for (const SourceFile& file :
       sources_under({"include", "src", "tools", "tests", "fuzz", "bench", "examples", "scripts"})) {
    for (const std::string& violation : length_violations(file.path, file.text)) ADD_FAILURE() << violation;
  }
}

}  // namespace
}  // namespace tilewright::architecture
