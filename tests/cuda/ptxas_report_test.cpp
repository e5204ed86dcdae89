// What ptxas said of every kernel, against what the schedule says. Needs nvcc at build time, no GPU.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "cuda/sm90/grouped_gemm.hpp"
#include "tilewright/shared_memory.hpp"

namespace tilewright::cuda::sm90 {
namespace {

/// Registers of a SM's sub-core lane, 512, shared by the warps of a block that run there; a multiple of 8.
int launch_registers(const Schedule& s) {
  return 512 / ((s.roles.producer_warps + s.roles.consumer_warps) / 4) / 8 * 8;
}

std::string report_of(std::size_t tile) {
  std::ifstream file(std::string(TILEWRIGHT_PTXAS_REPORTS) + "/gemms_" + std::to_string(tile) + ".o.ptxas.txt");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(PtxasReport, NamesEveryKernelWithoutSpillsAndWithTheRegistersOfItsSchedule) {
  const std::regex used("Used ([0-9]+) registers[^\\n]*");
  for (std::size_t tile = 0; tile < kSm90Tiles.size(); ++tile) {
    const std::string report = report_of(tile);
    int kernels = 0;
    for (std::sregex_iterator match(report.begin(), report.end(), used); match != std::sregex_iterator(); ++match) {
      ++kernels;
      EXPECT_EQ(std::stoi((*match)[1]), launch_registers(sm90_schedule(kSm90Tiles[tile], Epilogue::bf16))) << tile;
      EXPECT_EQ(match->str().find("smem"), std::string::npos) << "static shared memory: " << match->str();
    }
    EXPECT_EQ(kernels, sm90_endings(kSm90Tiles[tile])) << "tile " << tile;
    EXPECT_EQ(report.find("C75"), std::string::npos) << "serialised wgmma in tile " << tile;
    EXPECT_FALSE(std::regex_search(report, std::regex("[1-9][0-9]* bytes spill"))) << tile;
  }
}

TEST(PtxasReport, IsOfAsManyTilesAsAreBuiltAndEachFitsABlock) {
  std::size_t endings = 0;
  for (const Sm90Tile& tile : kSm90Tiles) endings += static_cast<std::size_t>(sm90_endings(tile));
  EXPECT_EQ(built_gemms().size(), endings);
  for (const BuiltGemm& gemm : built_gemms()) {
    EXPECT_LE(shared_memory(gemm.schedule).total, smem_per_block(Arch::sm_90)) << describe(gemm.schedule);
    EXPECT_EQ(find_gemm(gemm.schedule).value(), &gemm);
  }
  Schedule other = built_gemms()[0].schedule;
  other.stages += 1;
  EXPECT_EQ(find_gemm(other).error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace tilewright::cuda::sm90
