// tilewright inspect on binaries: cubins built by hand, with the names of real kernels.
#include <gtest/gtest.h>

#include <algorithm>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "cli/run_tool.hpp"
#include "inspect/binary_bytes.hpp"
#include "support/temporary_directory.hpp"

namespace tilewright::testing {
namespace {

std::string symbol_with(const std::string& part) {
  std::ifstream file(std::string(TILEWRIGHT_TEST_DATA) + "/inspect/kernel_names.tsv");
  for (std::string line; std::getline(file, line);) {
    if (line.front() != '#' && line.find(part) != std::string::npos) return line.substr(0, line.find('\t'));
  }
  ADD_FAILURE() << "no name with " << part;
  return {};
}

// The kernel of the report: 128x256x128 with the fused finalize, 102,400 B on a part that has 101,376.
std::string failing() { return symbol_with("102400\tcutlass_gemm"); }
std::string fitting() { return symbol_with("89088\tcutlass_gemm"); }

Kernel kernel(const std::string& symbol) {
  Kernel made;
  made.name = symbol;
  made.registers = 168;
  return made;
}

std::string text_of(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
  return text;
}

class InspectBinary : public ::testing::Test {
 protected:
  /// A cubin for `target` ("120f") with these kernels.
  std::string cubin_file(const std::string& name, const std::string& target, const std::vector<std::string>& symbols) {
    const std::string note = std::string("ptxas") + '\0' + "Cuda compilation tools, release 13.0, V13.0.88" + '\0' +
                             "-arch sm_" + target + " -m 64 ";
    std::vector<Kernel> kernels;
    for (const std::string& symbol : symbols) kernels.push_back(kernel(symbol));
    return folder_.write(
        name, text_of(cubin(second_convention(static_cast<std::uint32_t>(std::stoi(target)), note), kernels)));
  }

  TemporaryDirectory folder_;
};

TEST_F(InspectBinary, TellsTheOwnerOfTheFailingKernelWhatToChange) {
  const std::string path = cubin_file("failing.cubin", "120f", {failing(), fitting()});
  const ToolRun run = tilewright("inspect " + path + " --device rtx-pro-6000-server");
  EXPECT_EQ(run.exit, 3) << run.err;
  std::ifstream golden(std::string(TILEWRIGHT_TEST_DATA) + "/inspect/failing_kernel.txt");
  const std::string expected{std::istreambuf_iterator<char>(golden), {}};
  EXPECT_EQ(replaced(run.out, path, "failing.cubin"), expected);
}

TEST_F(InspectBinary, PointsToTheExplanationOfTheSameBytes) {
  const std::string path = cubin_file("failing.cubin", "120f", {failing()});
  const auto document = tilewright("inspect " + path + " --device-cc 12.1 --format json").json();
  const std::string command = document["files"][0]["kernels"][0]["explain"];
  const std::string tool = "tilewright ";
  ASSERT_EQ(command.substr(0, tool.size()), tool);
  const auto explained = tilewright(command.substr(tool.size()) + " --format json").json();
  EXPECT_EQ(explained["total"], 102400) << command;
  EXPECT_EQ(explained["over_bytes"], 1024) << command;
}

TEST_F(InspectBinary, WritesEverythingAsJson) {
  const std::string path = cubin_file("two.cubin", "120f", {failing(), "_Z6kernelPf"});
  const ToolRun run = tilewright("inspect " + path + " --device-cc 12.1 --format json");
  EXPECT_EQ(run.exit, 3) << run.err;
  const auto document = run.json();
  EXPECT_EQ(document["schema"], "tilewright.inspect/1");
  EXPECT_EQ(document["device"]["smem_per_block"], 101376);
  const auto& file = document["files"][0];
  EXPECT_EQ(file["kind"], "cubin");
  EXPECT_EQ(file["counts"]["smem_over"], 1);
  EXPECT_EQ(file["counts"]["unknown_smem"], 1);
  EXPECT_EQ(file["images"][0]["target"], "sm_120f");
  EXPECT_EQ(file["images"][0]["loads"], true);
  const auto& kernel = file["kernels"][0];
  EXPECT_EQ(kernel["symbol"], failing());
  EXPECT_EQ(kernel["family"], "cutlass_gemm");
  EXPECT_EQ(kernel["verdict"], "smem_over");
  EXPECT_EQ(kernel["dynamic_shared_bytes"], 102400);
  EXPECT_EQ(kernel["over_bytes"], 1024);
  EXPECT_EQ(kernel["cutlass"]["tile"], nlohmann::json({128, 256, 128}));
  EXPECT_EQ(kernel["cutlass"]["stages"], 3);
  EXPECT_EQ(kernel["cutlass"]["finalize"], true);
  EXPECT_EQ(kernel["resources"]["registers"], 168);
  EXPECT_FALSE(kernel["remedies"].empty());
  EXPECT_EQ(file["kernels"][1]["function"], "kernel");
  EXPECT_TRUE(file["kernels"][1]["dynamic_shared_bytes"].is_null());
}

TEST_F(InspectBinary, ExitsWithZeroWhereNothingStopsALaunchOrNoDeviceIsGiven) {
  const std::string fits = cubin_file("fits.cubin", "120f", {fitting()});
  EXPECT_EQ(tilewright("inspect " + fits + " --device-cc 12.0").exit, 0);
  const std::string fails = cubin_file("fails.cubin", "120f", {failing()});
  const ToolRun run = tilewright("inspect " + fails);
  EXPECT_EQ(run.exit, 0);
  EXPECT_NE(run.out.find("smem_over"), std::string::npos) << run.out;
}

TEST_F(InspectBinary, NamesTheFlagsOfATargetThatDoesNotMatch) {
  const std::string path = cubin_file("sm121.cubin", "121", {fitting()});
  const ToolRun run = tilewright("inspect " + path + " --device-cc 12.0");
  EXPECT_EQ(run.exit, 3);
  EXPECT_NE(run.out.find("built for sm_121; none of it runs on 12.0; its 89088 B of shared memory would fit"),
            std::string::npos)
      << run.out;
  EXPECT_NE(run.out.find("-gencode arch=compute_120f,code=sm_120f"), std::string::npos) << run.out;
}

TEST_F(InspectBinary, JudgesOnlyTheKernelsThatAreAskedFor) {
  const std::string path = cubin_file("mixed.cubin", "120f", {failing(), fitting(), "_Z6kernelPf"});
  const auto counts = [&](const std::string& options) {
    return tilewright("inspect " + path + " --device-cc 12.0 --format json " + options).json()["files"][0];
  };
  EXPECT_EQ(counts("--only cutlass")["kernels"].size(), 2U);
  EXPECT_EQ(counts("--only cutlass")["left_out"], 1);
  EXPECT_EQ(counts("--kernels '^kernel$'")["kernels"].size(), 1U);
  EXPECT_EQ(counts("--kernels finalize")["counts"]["smem_over"], 1);
  EXPECT_EQ(counts("--kernels 'C bf16, D bf16'")["counts"]["ok"], 1);
}

TEST_F(InspectBinary, UnderPdlReportsKernelsWithoutAWait) {
  const std::string path = cubin_file("fits.cubin", "120f", {fitting()});  // its code is zeros
  const ToolRun run = tilewright("inspect " + path + " --device-cc 12.0 --pdl");
  EXPECT_EQ(run.exit, 3);
  EXPECT_NE(run.out.find("pdl_without_wait"), std::string::npos) << run.out;
}

TEST_F(InspectBinary, WritesOneRowAKernelAsCsv) {
  const std::string path = cubin_file("two.cubin", "120f", {failing(), fitting()});
  const ToolRun run = tilewright("inspect " + path + " --device-cc 12.0 --format csv");
  EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), 3) << run.out;
  EXPECT_EQ(run.out.substr(0, 20), "file,verdict,target,");
  EXPECT_NE(run.out.find(failing()), std::string::npos);
}

TEST_F(InspectBinary, ListsEachKernelOfAFewOrOfAllOnDemand) {
  std::vector<std::string> many;
  for (int i = 0; i < 60; ++i) many.push_back("kernel_" + std::to_string(i));
  const std::string path = cubin_file("many.cubin", "120f", many);
  EXPECT_EQ(tilewright("inspect " + path + " --device-cc 12.0").out.find("kernel_59"), std::string::npos);
  EXPECT_NE(tilewright("inspect " + path + " --device-cc 12.0 --all").out.find("kernel_59"), std::string::npos);
  EXPECT_NE(tilewright("inspect " + path + " --device-cc 12.0 --kernels kernel_5").out.find("kernel_59"),
            std::string::npos);
}

TEST_F(InspectBinary, LooksAtBytesAndNotAtAName) {
  const std::string path = cubin_file("model.safetensors", "120f", {fitting()});
  EXPECT_EQ(tilewright("inspect " + path + " --device-cc 12.0").exit, 0);
  const std::string garbage = folder_.write("kernels.cubin", "PK\x03\x04 no binary at all");
  const ToolRun run = tilewright("inspect " + garbage);
  EXPECT_EQ(run.exit, 1);
  EXPECT_EQ(run.error_lines(), 1) << run.err;
  EXPECT_NE(run.err.find("does not begin as an executable"), std::string::npos) << run.err;
}

TEST_F(InspectBinary, RefusesWhatContradictsItself) {
  const std::string path = cubin_file("fits.cubin", "120f", {fitting()});
  const std::string other = folder_.write("text", "no GPU code");
  for (const std::string& arguments :
       {path + " --device-cc 12.0 --device gb10", path + " --layers 3", path + " --device-cc 12",
        path + " --only gemms", path + " --kernels '('", path + " " + other, other + " --pdl"}) {
    const ToolRun run = tilewright("inspect " + arguments);
    EXPECT_EQ(run.exit, 2) << arguments << "\n" << run.err;
    EXPECT_EQ(run.error_lines(), 1) << run.err;
  }
  EXPECT_EQ(tilewright("inspect " + path + " --device-cc 7.5").exit, 4);
  EXPECT_EQ(tilewright("inspect " + path + " " + folder_.file("missing")).exit, 1);
}

TEST_F(InspectBinary, JudgesSeveralFilesAtOnce) {
  const std::string first = cubin_file("first.cubin", "120f", {fitting()});
  const std::string second = cubin_file("second.cubin", "120f", {failing()});
  const ToolRun run = tilewright("inspect " + first + " " + second + " --device-cc 12.0 --format json");
  EXPECT_EQ(run.exit, 3);
  EXPECT_EQ(run.json()["files"].size(), 2U);
}

}  // namespace
}  // namespace tilewright::testing
