// The rules themselves, on made-up files: each must be able to say no.
#include "architecture/source_rules.hpp"

#include <gtest/gtest.h>

namespace tilewright::architecture {
namespace {

TEST(SourceRules, IncludesAreFoundWithTheirLines) {
  const auto found =
      includes_of("// #include \"no.hpp\"\n#include <vector>\n  #  include \"core/x.hpp\"  // why\nint x;\n");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].target, "vector");
  EXPECT_FALSE(found[0].quoted);
  EXPECT_EQ(found[0].line, 2);
  EXPECT_EQ(found[1].target, "core/x.hpp");
  EXPECT_TRUE(found[1].quoted);
  EXPECT_EQ(found[1].line, 3);
}

TEST(SourceRules, ALayerIncludesItselfAndWhatIsToItsLeft) {
  EXPECT_TRUE(may_include("core", "core"));
  EXPECT_TRUE(may_include("cpu", "core"));
  EXPECT_TRUE(may_include("moe", "schedule"));
  EXPECT_TRUE(may_include("tools", "checkpoint"));
  EXPECT_TRUE(may_include("tools", "core"));
}

TEST(SourceRules, ALayerDoesNotIncludeWhatIsToItsRightOrBesideIt) {
  EXPECT_FALSE(may_include("core", "numerics"));
  EXPECT_FALSE(may_include("schedule", "cpu"));
  EXPECT_FALSE(may_include("cpu", "cuda"));
  EXPECT_FALSE(may_include("schedule", "checkpoint"));
  EXPECT_FALSE(may_include("moe", "checkpoint"));
  EXPECT_FALSE(may_include("moe", "tools"));
  EXPECT_FALSE(may_include("nowhere", "core"));
}

TEST(SourceRules, AnIncludeThatPointsRightIsNamedWithFileAndLine) {
  const auto found = include_violations("src/core/a.cpp", "#include <string>\n#include \"schedule/planner.hpp\"\n");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NE(found[0].find("src/core/a.cpp:2: layer core includes \"schedule/planner.hpp\" of layer schedule"),
            std::string::npos)
      << found[0];
}

TEST(SourceRules, APublicHeaderCountsAsTheLayerThatImplementsIt) {
  EXPECT_EQ(include_violations("src/core/a.cpp", "#include \"tilewright/checkpoint.hpp\"\n").size(), 1U);
  EXPECT_TRUE(include_violations("src/checkpoint/a.cpp", "#include \"tilewright/checkpoint.hpp\"\n").empty());
}

TEST(SourceRules, ARelativeIncludeIsRefused) {
  EXPECT_EQ(include_violations("src/cpu/a.cpp", "#include \"b.hpp\"\n").size(), 1U);
  EXPECT_EQ(include_violations("src/cpu/a.cpp", "#include \"../core/b.hpp\"\n").size(), 1U);
}

TEST(SourceRules, ANewFolderOrPublicHeaderMustNameItsLayer) {
  EXPECT_EQ(include_violations("src/misc/a.cpp", "").size(), 1U);
  EXPECT_EQ(include_violations("include/tilewright/unheard_of.hpp", "").size(), 1U);
}

TEST(SourceRules, APublicHeaderStandsOnTheStandardLibraryAlone) {
  const std::string path = "include/tilewright/nvfp4.hpp";
  EXPECT_TRUE(
      include_violations(path, "#include <vector>\n#include <tl/expected.hpp>\n#include \"tilewright/result.hpp\"\n")
          .empty());
  EXPECT_EQ(include_violations(path, "#include <fmt/format.h>\n").size(), 1U);
  EXPECT_EQ(include_violations(path, "#include <sys/mman.h>\n").size(), 1U);
  EXPECT_EQ(include_violations(path, "#include \"numerics/e2m1.hpp\"\n").size(), 1U);
}

TEST(SourceRules, CudaIsKnownToTheCudaFolderAlone) {
  for (const std::string path :
       {"include/tilewright/nvfp4.hpp", "src/schedule/a.cpp", "src/checkpoint/a.cpp", "src/inspect/a.cpp"}) {
    EXPECT_EQ(include_violations(path, "#include <cuda_runtime.h>\n").size(), 1U) << path;
    EXPECT_EQ(include_violations(path, "#include <cutlass/cutlass.h>\n").size(), 1U) << path;
  }
  EXPECT_TRUE(include_violations("src/cuda/a.cu", "#include <cuda_runtime.h>\n").empty());
}

TEST(SourceRules, KernelsIncludeNoHostOnlyLibrary) {
  EXPECT_EQ(include_violations("src/cuda/a.cuh", "#include <fmt/format.h>\n").size(), 1U);
  EXPECT_TRUE(include_violations("src/core/a.cpp", "#include <fmt/format.h>\n").empty());
}

TEST(SourceRules, AFileMayHave400LinesAndAKernel700) {
  EXPECT_TRUE(length_violations("src/core/a.cpp", std::string(400, '\n')).empty());
  EXPECT_EQ(length_violations("src/core/a.cpp", std::string(401, '\n')).size(), 1U);
  EXPECT_TRUE(length_violations("src/cuda/a.cu", std::string(700, '\n')).empty());
  EXPECT_EQ(length_violations("src/cuda/a.cu", std::string(701, '\n')).size(), 1U);
}

}  // namespace
}  // namespace tilewright::architecture
