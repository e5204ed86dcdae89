// probe.cu as nvcc here compiles it, against what ptxas says of it: another toolkit than the fixtures' is tested too.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
#include <sstream>
#include <string>

#include "support/temporary_directory.hpp"
#include "tilewright/binary_images.hpp"

namespace tilewright {
namespace {

std::string find_nvcc() {
  for (const char* path : {"/usr/local/cuda/bin/nvcc", "/usr/bin/nvcc", "/opt/cuda/bin/nvcc"}) {
    if (std::filesystem::exists(path)) return path;
  }
  return {};
}

std::string run(const std::string& command) {
  std::string output;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return output;
  char buffer[4096];
  for (std::size_t n = 0; (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) output.append(buffer, n);
  EXPECT_EQ(pclose(pipe), 0) << command << "\n" << output;
  return output;
}

struct Printed {
  int registers = 0;
  std::int64_t shared = 0;
  std::int64_t stack = 0;
  std::int64_t stores = 0;
  std::int64_t loads = 0;
};

// "Compiling entry function 'k' for 'sm_90a'", then the lines about it.
std::map<std::string, Printed> parse_ptxas(const std::string& output) {
  std::map<std::string, Printed> kernels;
  std::string key;
  std::istringstream lines(output);
  const std::regex entry("Compiling entry function '(\\w+)' for '(\\w+)'");
  const std::regex frame("(\\d+) bytes stack frame, (\\d+) bytes spill stores, (\\d+) bytes spill loads");
  const std::regex used("Used (\\d+) registers");
  const std::regex shared("(\\d+) bytes smem");
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_search(line, match, entry)) {
      key = match[2].str() + " " + match[1].str();
    } else if (std::regex_search(line, match, frame)) {
      kernels[key].stack = std::stoll(match[1]);
      kernels[key].stores = std::stoll(match[2]);
      kernels[key].loads = std::stoll(match[3]);
    } else if (std::regex_search(line, match, used)) {
      kernels[key].registers = std::stoi(match[1]);
      if (std::regex_search(line, match, shared)) kernels[key].shared = std::stoll(match[1]);
    }
  }
  return kernels;
}

TEST(NvccHere, PrintsWhatIsReadOfItsImages) {
  const std::string nvcc = find_nvcc();
  if (nvcc.empty()) GTEST_SKIP() << "no nvcc in /usr/local/cuda/bin, /usr/bin or /opt/cuda/bin";
  const testing::TemporaryDirectory directory;
  const std::string object = directory.file("probe.o");
  const std::string output =
      run(nvcc + " -c -Xptxas -v -gencode arch=compute_90a,code=sm_90a -gencode arch=compute_120a,code=sm_120a -o " +
          object + " " TILEWRIGHT_SOURCE_DIR "/tests/inspect/probe.cu");
  const auto printed = parse_ptxas(output);
  ASSERT_EQ(printed.size(), 14U) << output;
  const auto report = read_binary(object);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->kind, BinaryKind::elf_object);
  ASSERT_EQ(report->images.size(), 2U);
  for (const CodeImage& image : report->images) {
    ASSERT_EQ(image.kernels.size(), 7U);
    for (const KernelInfo& kernel : image.kernels) {
      const std::string key = to_string(image.target, image.kind) + " " + kernel.symbol;
      SCOPED_TRACE(key);
      ASSERT_EQ(printed.count(key), 1U);
      const Printed& expected = printed.at(key);
      EXPECT_EQ(kernel.registers, expected.registers);
      EXPECT_EQ(kernel.static_shared_bytes, expected.shared);
      EXPECT_EQ(kernel.stack_bytes, expected.stack);
      EXPECT_EQ(kernel.spill_store_bytes, expected.stores);
      EXPECT_EQ(kernel.spill_load_bytes, expected.loads);
      EXPECT_EQ(kernel.setmaxnreg, kernel.symbol == "specialized" ? 2 : 0);
      EXPECT_EQ(kernel.griddep_wait, kernel.symbol == "waits" ? 1 : 0);
      EXPECT_EQ(kernel.griddep_launch, kernel.symbol == "releases" ? 1 : 0);
    }
  }
}

}  // namespace
}  // namespace tilewright
