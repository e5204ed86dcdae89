// tests/data/cutlass/cutlass_oracle*.csv: what compiling CUTLASS gave.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "schedule/cutlass/csv.hpp"
#include "tilewright/cutlass_rows.hpp"

namespace tilewright::cutlass_tests {

using Fields = std::vector<std::string>;

inline constexpr std::size_t kAsking = 13;

inline std::string read_table(const std::string& name) {
  const std::string path = std::string(TILEWRIGHT_TEST_DATA) + "/cutlass/" + name;
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The rows of a table, without its header.
inline std::vector<Fields> table(const std::string& name) {
  const auto records = schedule::cutlass::read_csv(read_table(name));
  EXPECT_TRUE(records) << records.error().message();
  std::vector<Fields> rows;
  for (std::size_t i = 1; records && i < records->size(); ++i) rows.push_back((*records)[i].fields);
  return rows;
}

/// A SM120 grouped NVFP4 kernel of a tile, as FlashInfer asks for it: C is bf16, and D too, or void where finalize
/// scatters.
inline CutlassRequest grouped_nvfp4(CutlassTile tile, CutlassFusion fusion = CutlassFusion::linear_combination) {
  CutlassRequest request;
  request.grouped = true;
  request.tile = tile;
  request.c = CutlassElement::bf16;
  request.d = fusion == CutlassFusion::finalize ? CutlassElement::none : CutlassElement::bf16;
  request.fusion = fusion;
  request.epilogue_schedule.warps = CutlassEpilogueWarps::tma;
  return request;
}

inline CutlassRequest with_stages(CutlassRequest request, int count) {
  request.stages = {CutlassStageRule::explicit_count, count, std::nullopt};
  return request;
}

}  // namespace tilewright::cutlass_tests
