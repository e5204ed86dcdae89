// Requests of SM90, SM100 and SM103, and what the tests of all three ask of an answer.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tilewright/cutlass_rows.hpp"

namespace tilewright::cutlass_tests {

/// A row of cutlass_oracle.csv's first 13 columns, from the ones that vary.
inline CutlassRequest request_of(const std::string& arch, const std::string& kind, const std::string& operand,
                                 const std::string& c, const std::string& d, CutlassTile tile,
                                 const std::string& cluster_m, const std::string& schedule) {
  const std::string cluster_n = cluster_m == "dyn" ? "dyn" : "1";
  const std::string scale = operand == "nvfp4" ? "ue4m3/16" : operand.rfind("mx", 0) == 0 ? "ue8m0/32" : "-";
  const auto row = parse_cutlass_row({arch, kind, operand, operand, scale, c, d, std::to_string(tile.m),
                                      std::to_string(tile.n), std::to_string(tile.k), cluster_m, cluster_n, schedule});
  EXPECT_TRUE(row) << row.error().message();
  return row ? row->request : CutlassRequest();
}

inline CutlassKernel resolved(const CutlassRequest& request) {
  const auto kernel = resolve_cutlass(request);
  EXPECT_TRUE(kernel) << kernel.error().message();
  return kernel ? *kernel : CutlassKernel();
}

/// The message of the assertion that stops a build; empty where none does.
inline std::string assertion(const CutlassRequest& request) {
  const CutlassKernel kernel = resolved(request);
  return kernel.error ? kernel.error->message : std::string();
}

inline const CutlassStorage* member(const CutlassKernel& kernel, const std::string& name) {
  for (const CutlassStorage& part : kernel.storage) {
    if (part.name == name) return &part;
  }
  return nullptr;
}

/// Bytes of a member of the shared storage; -1 where there is none.
inline std::int64_t bytes_of_member(const CutlassKernel& kernel, const std::string& name) {
  const CutlassStorage* part = member(kernel, name);
  return part != nullptr ? part->bytes : -1;
}

inline std::int64_t reserved_for(const CutlassKernel& kernel, const std::string& name) {
  const CutlassStorage* part = member(kernel, name);
  return part != nullptr ? part->reserved : -1;
}

inline const CutlassStep* step(const CutlassKernel& kernel, const std::string& what) {
  for (const CutlassStep& each : kernel.steps) {
    if (each.what == what) return &each;
  }
  return nullptr;
}

inline std::string resolution(const CutlassKernel& kernel, const std::string& what) {
  const CutlassStep* found = step(kernel, what);
  return found != nullptr ? found->resolved : std::string();
}

inline void expect_unsupported(const CutlassRequest& request) {
  const auto kernel = resolve_cutlass(request);
  ASSERT_FALSE(kernel) << kernel->policy;
  EXPECT_EQ(kernel.error().code, ErrorCode::unsupported);
  EXPECT_NE(kernel.error().message().find("covered: "), std::string::npos) << kernel.error().message();
}

}  // namespace tilewright::cutlass_tests
