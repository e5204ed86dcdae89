#include "tilewright/checkpoint_report.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "checkpoint/layer_fixture.hpp"
#include "support/temporary_directory.hpp"

namespace tilewright::testing {
namespace {

const std::string kExperts = "model.layers.2.mlp.experts";

class Report : public ::testing::Test {
 protected:
  /// Codes 1 and scale 1.0 everywhere, 2 experts of H 32 and I 16: 2 * 3 * 512 weights, 192 blocks.
  Report() {
    for (ExpertBytes& expert : layer_.experts) {
      for (MatrixBytes* matrix : {&expert.gate, &expert.up, &expert.down}) {
        std::fill(matrix->codes.begin(), matrix->codes.end(), std::uint8_t{0x11});
        std::fill(matrix->scales.begin(), matrix->scales.end(), std::uint8_t{0x38});
        matrix->global_scale = 0x1p-10F;
        matrix->input_scale = 0.25F;
      }
    }
    add_single(set_, layer_, kExperts, Dialect::modelopt);
  }

  LayerReport report() {
    const Status written = write_safetensors(directory_.file("model.safetensors"), set_.tensors());
    if (!written) throw std::runtime_error(written.error().message());
    const auto checkpoint = Checkpoint::open(directory_.path().string());
    if (!checkpoint) throw std::runtime_error(checkpoint.error().message());
    EXPECT_EQ(expert_layers(*checkpoint), std::vector<int>{2});
    const auto report = report_layer(*checkpoint, 2);
    if (!report) throw std::runtime_error(report.error().message());
    return *report;
  }

  static bool has(const LayerReport& report, const std::string& code) {
    return std::any_of(report.findings.begin(), report.findings.end(),
                       [&](const Finding& finding) { return finding.code == code; });
  }

  LayerBytes layer_ = random_layer(2, 32, 16, true, 1);
  TensorSet set_;
  TemporaryDirectory directory_;
};

TEST_F(Report, DescribesASoundLayer) {
  const LayerReport layer = report();
  EXPECT_FALSE(layer.error);
  EXPECT_TRUE(layer.findings.empty());
  EXPECT_EQ(layer.format, "NVFP4");
  EXPECT_EQ(layer.dialect, Dialect::modelopt);
  EXPECT_EQ(layer.layout, "one tensor a matrix");
  EXPECT_EQ(layer.experts, 2);
  EXPECT_EQ(layer.hidden, 32);
  EXPECT_EQ(layer.intermediate, 16);
  EXPECT_TRUE(layer.gated);
  EXPECT_EQ(layer.matrices, 6);
  EXPECT_EQ(layer.weights, 3072);
  EXPECT_EQ(layer.code_bytes, 1536);
  EXPECT_EQ(layer.scale_bytes, 192);
  EXPECT_EQ(layer.largest_scale, 1.0F);
  EXPECT_EQ(layer.zero_codes, 0);
  EXPECT_EQ(layer.gate_up.pairs, 2);
  EXPECT_EQ(layer.gate_up.mismatched, 0);
  EXPECT_EQ(layer.global_scales.count, 6);
  EXPECT_EQ(layer.global_scales.median, 0x1p-10F);
  EXPECT_EQ(layer.input_scales.count, 6);
  EXPECT_EQ(layer.missing_input_scales, 0);
}

TEST_F(Report, CountsScalesByPowerOfTwo) {
  set_.change(kExperts + ".0.gate_proj.weight_scale", [](auto& bytes) {
    bytes[0] = 0x00;
    bytes[1] = 0x80;
    bytes[2] = 0x07;  // the largest subnormal
    bytes[3] = 0x08;  // 2^-6, the smallest normal
    bytes[4] = 0x3F;  // 1.875
    bytes[5] = 0x7E;  // 448
  });
  const LayerReport layer = report();
  ASSERT_EQ(layer.scale_histogram.size(), 17U);
  EXPECT_EQ(layer.scale_histogram[0].count, 2);
  EXPECT_EQ(layer.scale_histogram[1].count, 1);
  EXPECT_EQ(layer.scale_histogram[2].low, 0x1p-6F);
  EXPECT_EQ(layer.scale_histogram[2].count, 1);
  EXPECT_EQ(layer.scale_histogram[8].low, 1.0F);
  EXPECT_EQ(layer.scale_histogram[8].count, 192 - 5);
  EXPECT_EQ(layer.scale_histogram[16].high, 512.0F);
  EXPECT_EQ(layer.scale_histogram[16].count, 1);
  std::int64_t total = 0;
  for (const ScaleBin& bin : layer.scale_histogram) total += bin.count;
  EXPECT_EQ(total, layer.scale_bytes);
  EXPECT_EQ(layer.largest_scale, 448.0F);
  EXPECT_EQ(layer.max_scales, 1);
  EXPECT_EQ(layer.zero_scales, 2);
  EXPECT_EQ(layer.negative_zero_scales, 1);
  EXPECT_EQ(layer.zero_scales_with_codes, 2);
  EXPECT_TRUE(has(layer, "zero_scale_with_codes"));
  EXPECT_TRUE(has(layer, "negative_zero_scale"));
}

TEST_F(Report, CountsZeroCodesOfBothSigns) {
  set_.change(kExperts + ".1.down_proj.weight", [](auto& bytes) {
    bytes[0] = 0x80;  // 0, then -0
    bytes[1] = 0x08;  // -0, then 0
    bytes[2] = 0xF9;  // -6 and -0.5
  });
  const LayerReport layer = report();
  EXPECT_EQ(layer.zero_codes, 4);
  EXPECT_EQ(layer.negative_zero_codes, 2);
}

TEST_F(Report, MeasuresHowFarGateAndUpScalesDiffer) {
  set_.set_float(kExperts + ".0.up_proj.weight_scale_2", 0x1p-9F);
  const LayerReport layer = report();
  EXPECT_EQ(layer.gate_up.mismatched, 1);
  EXPECT_DOUBLE_EQ(layer.gate_up.max_ratio, 2.0);
  EXPECT_DOUBLE_EQ(layer.gate_up.median_ratio, 2.0);
  EXPECT_TRUE(has(layer, "gate_up_scale_mismatch"));
}

TEST_F(Report, FindsAGlobalScaleFarFromItsSiblings) {
  for (const char* expert : {".0", ".1"}) {
    for (const char* projection : {".gate_proj", ".up_proj"}) {
      set_.set_float(kExperts + expert + projection + ".weight_scale_2", expert[1] == '0' ? 0x1p-16F : 0x1p-10F);
    }
  }
  const LayerReport layer = report();
  EXPECT_EQ(layer.global_scale_outliers, 2);
  EXPECT_TRUE(has(layer, "global_scale_outlier"));
}

TEST_F(Report, FindsSaturatedScales) {
  set_.change(kExperts + ".0.up_proj.weight_scale", [](auto& bytes) { std::fill(bytes.begin(), bytes.end(), 0x7E); });
  EXPECT_TRUE(has(report(), "saturated_scales"));
}

TEST_F(Report, GoesOnCountingPastWhatALoadRefuses) {
  set_.change(kExperts + ".0.gate_proj.weight_scale", [](auto& bytes) { bytes[0] = 0x7F; });
  set_.change(kExperts + ".1.gate_proj.weight_scale", [](auto& bytes) { bytes[0] = 0x90; });
  set_.set_float(kExperts + ".1.down_proj.weight_scale_2", std::numeric_limits<float>::quiet_NaN());
  const LayerReport layer = report();
  ASSERT_TRUE(layer.error);
  EXPECT_EQ(layer.nan_scales, 1);
  EXPECT_EQ(layer.sign_bit_scales, 1);
  EXPECT_EQ(layer.matrices, 5);
  EXPECT_TRUE(has(layer, "nan_scale"));
  EXPECT_TRUE(has(layer, "sign_bit_scale"));
  EXPECT_TRUE(has(layer, "matrix_refused"));
}

TEST_F(Report, CountsMissingInputScales) {
  set_.remove(kExperts + ".0.gate_proj.input_scale");
  const LayerReport layer = report();
  EXPECT_EQ(layer.input_scales.count, 5);
  EXPECT_EQ(layer.missing_input_scales, 1);
  EXPECT_TRUE(has(layer, "input_scale_filled"));
}

TEST_F(Report, TellsTheFormatOfExpertsThatAreNotNvfp4) {
  set_ = TensorSet();
  for (const char* projection : {".gate_proj", ".up_proj", ".down_proj"}) {
    set_.add(kExperts + ".0" + projection + ".weight", DType::bf16, {4, 16}, std::vector<std::uint8_t>(128));
  }
  const LayerReport layer = report();
  EXPECT_EQ(layer.format, "unquantized");
  ASSERT_TRUE(layer.error);
  EXPECT_EQ(layer.error->code, ErrorCode::unsupported);
}

TEST_F(Report, DescribesAStack) {
  set_ = TensorSet();
  add_stacked(set_, layer_, kExperts, RowOrder::gate_then_up, Order::transposed);
  const LayerReport layer = report();
  EXPECT_EQ(layer.layout, "stacked, gate and up fused");
  EXPECT_EQ(layer.weights, 3072);
  EXPECT_EQ(layer.scale_histogram[8].count, 192);
}

TEST_F(Report, NamesALayerThatDoesNotExist) {
  ASSERT_TRUE(write_safetensors(directory_.file("model.safetensors"), set_.tensors()));
  const auto checkpoint = Checkpoint::open(directory_.path().string());
  ASSERT_TRUE(checkpoint);
  const auto missing = report_layer(*checkpoint, 7);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace tilewright::testing
