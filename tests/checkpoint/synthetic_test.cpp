#include <filesystem>

#include <gtest/gtest.h>

#include "support/temporary_directory.hpp"
#include "tilewright/checkpoint_report.hpp"
#include "tilewright/quantize.hpp"

namespace tilewright::testing {
namespace {

namespace fs = std::filesystem;

/// A known model with its layers cut down to a size for tests.
ModelFacts small(const ModelFacts& model) {
  ModelFacts facts = model;
  facts.hidden = 64;
  facts.intermediate = 48;
  facts.experts = facts.routing.groups > 1 ? 2 * facts.routing.groups : facts.routing.top_k + 2;
  return facts;
}

TEST(Synthetic, ReadsBackAsTheFactsOfEveryKnownModel) {
  for (const ModelFacts& model : known_models()) {
    SCOPED_TRACE(model.name);
    const TemporaryDirectory directory;
    const ModelFacts facts = small(model);
    const auto written = write_synthetic_checkpoint(directory.file("model"), facts, 2, 1);
    ASSERT_TRUE(written) << written.error().message();
    const auto checkpoint = Checkpoint::open(directory.file("model"));
    ASSERT_TRUE(checkpoint) << checkpoint.error().message();
    EXPECT_EQ(checkpoint->layers(), (std::vector<int>{0, 1}));
    const Result<ModelFacts>& read = checkpoint->model();
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->hidden, facts.hidden);
    EXPECT_EQ(read->intermediate, facts.intermediate);
    EXPECT_EQ(read->experts, facts.experts);
    EXPECT_EQ(read->shared_experts, facts.shared_experts);
    EXPECT_EQ(read->moe_layers, 2);
    EXPECT_EQ(read->total_layers, 2);
    EXPECT_EQ(read->activation.kind, facts.activation.kind);
    EXPECT_FLOAT_EQ(read->activation.limit, facts.activation.limit);
    EXPECT_EQ(read->routing.scoring, facts.routing.scoring);
    EXPECT_EQ(read->routing.top_k, facts.routing.top_k);
    EXPECT_EQ(read->routing.renormalize, facts.routing.renormalize);
    EXPECT_FLOAT_EQ(read->routing.scaling_factor, facts.routing.scaling_factor);
    EXPECT_EQ(read->routing.groups, facts.routing.groups);
    EXPECT_EQ(read->routing.top_groups, facts.routing.top_groups);
    EXPECT_EQ(read->routing.selection_bias, facts.routing.selection_bias);
    const auto weights = checkpoint->load_layer(1);
    ASSERT_TRUE(weights) << weights.error().message();
    EXPECT_EQ(weights->gated, facts.activation.gated());
    const auto router = checkpoint->load_router(1);
    ASSERT_TRUE(router) << router.error().message();
    EXPECT_EQ(router->hidden, facts.hidden);
    EXPECT_EQ(router->selection_bias.empty(), !facts.routing.selection_bias);
  }
}

TEST(Synthetic, LooksLikeATrainedLayerInAReport) {
  const TemporaryDirectory directory;
  ModelFacts facts = *find_model("qwen3-30b-a3b");
  facts.experts = 8;
  const auto written = write_synthetic_checkpoint(directory.file("model"), facts, 1, 7);
  ASSERT_TRUE(written) << written.error().message();
  EXPECT_NEAR(written->snr_db(), 20.4, 0.2);  // normal weights, see quantize_test.cpp
  const auto checkpoint = Checkpoint::open(directory.file("model"));
  ASSERT_TRUE(checkpoint) << checkpoint.error().message();
  const auto report = report_layer(*checkpoint, 0);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_FALSE(report->error);
  EXPECT_TRUE(report->findings.empty()) << report->findings[0].message;
  EXPECT_EQ(report->largest_scale, 448.0F);
  EXPECT_LT(report->global_scales.max, 1e-3F);
  EXPECT_GT(report->global_scales.min, 1e-5F);
}

TEST(Synthetic, GivesTheSameBytesForTheSameSeed) {
  const TemporaryDirectory directory;
  const ModelFacts facts = small(*find_model("glm-5"));
  const auto bytes_of = [&](const std::string& name, std::uint64_t seed) {
    EXPECT_TRUE(write_synthetic_checkpoint(directory.file(name), facts, 1, seed));
    const auto files = TensorFiles::open(directory.file(name));
    std::vector<std::uint8_t> bytes;
    for (const auto& entry : files->tensors()) {
      bytes.insert(bytes.end(), entry.second.bytes.begin(), entry.second.bytes.end());
    }
    return bytes;
  };
  const auto first = bytes_of("first", 3);
  EXPECT_EQ(first, bytes_of("again", 3));
  EXPECT_NE(first, bytes_of("other", 4));
}

TEST(Synthetic, WritesTheOtherDialectToo) {
  const TemporaryDirectory directory;
  QuantizeOptions options;
  options.dialect = Dialect::compressed_tensors;
  options.input_scale = 0.25F;
  ASSERT_TRUE(write_synthetic_checkpoint(directory.file("model"), small(*find_model("glm-5")), 1, 3, options));
  const auto checkpoint = Checkpoint::open(directory.file("model"));
  ASSERT_TRUE(checkpoint) << checkpoint.error().message();
  EXPECT_EQ(checkpoint->model()->format, WeightFormat::nvfp4);
  const auto report = report_layer(*checkpoint, 0);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->dialect, Dialect::compressed_tensors);
  EXPECT_EQ(report->input_scales.median, 0.25F);
}

TEST(Synthetic, RefusesSizesThatNvfp4CannotHold) {
  const TemporaryDirectory directory;
  ModelFacts facts = small(*find_model("glm-5"));
  facts.intermediate = 24;
  const auto odd = write_synthetic_checkpoint(directory.file("model"), facts, 1, 1);
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(odd.error().cause.find("24"), std::string::npos) << odd.error().message();
  facts.intermediate = 32;
  EXPECT_FALSE(write_synthetic_checkpoint(directory.file("model"), facts, 0, 1));
  EXPECT_FALSE(fs::exists(directory.file("model")));
}

}  // namespace
}  // namespace tilewright::testing
