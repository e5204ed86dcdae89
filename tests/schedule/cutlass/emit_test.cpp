// The emitted header against a file, and what it says of the change. That it compiles is tests/cutlass_oracle's to see.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tilewright/cutlass_render.hpp"

namespace tilewright {
namespace {

CutlassRequest failing() {
  CutlassRequest request;
  request.grouped = true;
  request.tile = {128, 256, 128};
  request.fusion = CutlassFusion::finalize;
  fill_as_flashinfer(request, {});
  request.d = CutlassElement::none;
  return request;
}

// The remedy whose change holds `words`, emitted.
std::string emitted(const CutlassRequest& request, const std::string& words) {
  const auto explanation = explain_cutlass(request);
  if (!explanation) return explanation.error().message();
  for (const CutlassRemedy& remedy : explanation->remedies) {
    if (remedy.change.find(words) == std::string::npos) continue;
    const auto kernel = resolve_cutlass(remedy.request);
    if (!kernel) return kernel.error().message();
    return emit_cutlass(request, *kernel).value_or("not emitted");
  }
  return "no remedy " + words;
}

TEST(CutlassEmit, WritesTheMendedKernelAndWhatItReplaces) {
  const std::string text = emitted(failing(), "void");
  EXPECT_NE(text.find("using ElementC = void;  // was cutlass::bfloat16_t"), std::string::npos) << text;
  EXPECT_NE(text.find("CtaShape128x256x64B FINALIZE"), std::string::npos) << text;
  EXPECT_NE(text.find("SharedStorage) == 94208"), std::string::npos) << text;
  const std::string path = std::string(TILEWRIGHT_TEST_DATA) + "/cutlass/explain_emit.hpp.txt";
  if (std::getenv("TILEWRIGHT_UPDATE_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << text;
  std::ifstream in(path, std::ios::binary);
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(in), {})) << path;
}

TEST(CutlassEmit, WritesAnExplicitStageCount) {
  const std::string text = emitted(failing(), "StageCount<2>");
  EXPECT_NE(text.find("using StageCount = cutlass::gemm::collective::StageCount<2>;  // was "), std::string::npos)
      << text;
  EXPECT_NE(text.find("SharedStorage) == 74752"), std::string::npos) << text;
}

TEST(CutlassEmit, TurnsTheFusionWithTheOperands) {
  const std::string text = emitted(failing(), "swap");
  EXPECT_NE(text.find("ScaledAccPerRowBiasPerColScaleScatter"), std::string::npos) << text;
  EXPECT_NE(text.find("using LayoutD = cutlass::layout::ColumnMajor*;"), std::string::npos) << text;
}

TEST(CutlassEmit, RefusesAKernelThatDoesNotBuild) {
  CutlassRequest request = failing();
  request.tile.k = 256;
  const auto kernel = resolve_cutlass(request);
  ASSERT_TRUE(kernel) << kernel.error().message();
  const auto text = emit_cutlass(request, *kernel);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(text.error().cause.find("stages_below_2"), std::string::npos) << text.error().cause;
}

}  // namespace
}  // namespace tilewright
