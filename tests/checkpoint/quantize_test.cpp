#include "tilewright/quantize.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "checkpoint/layer_fixture.hpp"
#include "support/temporary_directory.hpp"
#include "tilewright/checkpoint_report.hpp"
#include "tilewright/float_types.hpp"

namespace tilewright::testing {
namespace {

namespace fs = std::filesystem;

constexpr int kExperts = 2;
constexpr std::int64_t kHidden = 48;
constexpr std::int64_t kIntermediate = 32;

struct Matrix {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<float> values;  ///< bf16 values, so that every dtype holds them
};

struct Expert {
  Matrix gate, up, down;
};

Matrix random_matrix(std::int64_t rows, std::int64_t cols, float deviation, std::mt19937& random) {
  std::normal_distribution<float> normal(0.0F, deviation);
  Matrix matrix{rows, cols, {}};
  for (std::int64_t i = 0; i < rows * cols; ++i) matrix.values.push_back(round_to_bf16(normal(random)));
  return matrix;
}

std::vector<Expert> random_experts() {
  std::mt19937 random(17);
  std::vector<Expert> experts;
  for (int e = 0; e < kExperts; ++e) {
    Expert expert;
    expert.gate = random_matrix(kIntermediate, kHidden, 0.02F, random);
    expert.up = random_matrix(kIntermediate, kHidden, 0.05F, random);
    expert.down = random_matrix(kHidden, kIntermediate, 0.02F, random);
    experts.push_back(std::move(expert));
  }
  return experts;
}

std::vector<std::uint8_t> to_bytes(const std::vector<float>& values, DType dtype) {
  std::vector<std::uint8_t> bytes;
  const auto append = [&](const auto& stored) {
    const auto* first = reinterpret_cast<const std::uint8_t*>(&stored);
    bytes.insert(bytes.end(), first, first + sizeof(stored));
  };
  for (const float value : values) {
    if (dtype == DType::f32) append(value);
    if (dtype == DType::bf16) append(to_bf16(value));
    if (dtype == DType::f16) append(to_fp16(value));
  }
  return bytes;
}

class Quantize : public ::testing::Test {
 protected:
  void add_single(DType dtype, const Names& names = {}) {
    for (std::size_t e = 0; e < experts_.size(); ++e) {
      const std::string prefix = "model.layers.0.mlp.experts." + std::to_string(e) + ".";
      const auto add = [&](const std::string& projection, const Matrix& matrix) {
        set_.add(prefix + projection + ".weight", dtype, {matrix.rows, matrix.cols}, to_bytes(matrix.values, dtype));
      };
      add(names.gate, experts_[e].gate);
      add(names.up, experts_[e].up);
      add(names.down, experts_[e].down);
    }
  }

  std::string write_source() {
    const fs::path directory = directory_.path() / "source";
    fs::create_directories(directory);
    const Status written = write_safetensors((directory / "model.safetensors").string(), set_.tensors());
    if (!written) throw std::runtime_error(written.error().message());
    return directory.string();
  }

  std::string destination() const { return directory_.file("quantized"); }

  /// Every matrix of the written checkpoint is what quantize_matrix makes of the source's.
  void expect_experts(const QuantizeOptions& options) const {
    const auto checkpoint = Checkpoint::open(destination());
    ASSERT_TRUE(checkpoint) << checkpoint.error().message();
    std::vector<Finding> findings;
    const auto weights = checkpoint->load_layer(0, {}, &findings);
    ASSERT_TRUE(weights) << weights.error().message();
    ASSERT_EQ(weights->experts.size(), experts_.size());
    for (std::size_t e = 0; e < experts_.size(); ++e) {
      expect_matrix(weights->experts[e].gate, experts_[e].gate, options);
      expect_matrix(weights->experts[e].up, experts_[e].up, options);
      expect_matrix(weights->experts[e].down, experts_[e].down, options);
      EXPECT_EQ(weights->experts[e].gate.global_scale == weights->experts[e].up.global_scale,
                options.share_gate_up_scale);
    }
  }

  static void expect_matrix(const Nvfp4Matrix& matrix, const Matrix& source, const QuantizeOptions& options) {
    MatrixBytes expected;
    expected.rows = source.rows;
    expected.cols = source.cols;
    expected.global_scale = matrix.global_scale;
    expected.input_scale = options.input_scale;
    expected.codes.resize(source.values.size() / 2);
    expected.scales.resize(source.values.size() / 16);
    const auto account = quantize_matrix(source.values.data(), source.rows, source.cols, matrix.global_scale,
                                         options.selection, expected.codes.data(), expected.scales.data());
    expect_equal(matrix, expected, "matrix");
    EXPECT_GE(matrix.global_scale, global_scale_for(account.amax, options.selection) * (1.0F - 1e-6F));
  }

  std::vector<Expert> experts_ = random_experts();
  TensorSet set_;
  TemporaryDirectory directory_;
};

TEST_F(Quantize, WritesEveryDtypeAndDialectAsTheSameExperts) {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32}) {
    for (const Dialect dialect : {Dialect::modelopt, Dialect::compressed_tensors}) {
      SCOPED_TRACE(std::string(to_string(dtype)) + " " + to_string(dialect));
      if (dtype == DType::f16) {  // bf16 has a wider range; keep the values that fp16 holds exactly
        for (Expert& expert : experts_) {
          for (Matrix* matrix : {&expert.gate, &expert.up, &expert.down}) {
            for (float& value : matrix->values) value = to_float(to_fp16(value));
          }
        }
      }
      set_ = TensorSet();
      add_single(dtype);
      QuantizeOptions options;
      options.dialect = dialect;
      const auto report = quantize_checkpoint(write_source(), destination(), options);
      ASSERT_TRUE(report) << report.error().message();
      EXPECT_EQ(report->matrices.size(), 6U);
      expect_experts(options);
      fs::remove_all(destination());
    }
  }
}

TEST_F(Quantize, KeepsTheLetterNames) {
  add_single(DType::bf16, kLetters);
  const auto report = quantize_checkpoint(write_source(), destination());
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->matrices[0].name.rfind("model.layers.0.mlp.experts.0.w", 0), 0U) << report->matrices[0].name;
  expect_experts({});
}

TEST_F(Quantize, TakesGateAndUpApartWhenAsked) {
  add_single(DType::bf16);
  QuantizeOptions options;
  options.share_gate_up_scale = false;
  options.selection = ScaleSelection::four_over_six;
  options.input_scale = 0.0625F;
  ASSERT_TRUE(quantize_checkpoint(write_source(), destination(), options));
  expect_experts(options);
}

TEST_F(Quantize, SplitsStacksOfEitherOrder) {
  for (const bool transposed : {false, true}) {
    SCOPED_TRACE(transposed);
    std::vector<float> fused;
    std::vector<float> down;
    const auto append = [&](std::vector<float>& out, const std::vector<const Matrix*>& parts) {
      const std::int64_t cols = parts[0]->cols;
      const auto rows = static_cast<std::int64_t>(parts.size()) * parts[0]->rows;
      for (std::int64_t i = 0; i < rows * cols; ++i) {
        const std::int64_t row = transposed ? i % rows : i / cols;
        const std::int64_t col = transposed ? i / rows : i % cols;
        const Matrix& part = *parts[static_cast<std::size_t>(row / parts[0]->rows)];
        out.push_back(part.values[static_cast<std::size_t>(row % part.rows * cols + col)]);
      }
    };
    for (const Expert& expert : experts_) {
      append(fused, {&expert.gate, &expert.up});
      append(down, {&expert.down});
    }
    const auto shape = [&](std::int64_t rows, std::int64_t cols) {
      return transposed ? std::vector<std::int64_t>{kExperts, cols, rows}
                        : std::vector<std::int64_t>{kExperts, rows, cols};
    };
    set_ = TensorSet();
    set_.add("model.layers.0.mlp.experts.gate_up_proj", DType::bf16, shape(2 * kIntermediate, kHidden),
             to_bytes(fused, DType::bf16));
    set_.add("model.layers.0.mlp.experts.down_proj", DType::bf16, shape(kHidden, kIntermediate),
             to_bytes(down, DType::bf16));
    const auto report = quantize_checkpoint(write_source(), destination());
    ASSERT_TRUE(report) << report.error().message();
    expect_experts({});
    fs::remove_all(destination());
  }
}

TEST_F(Quantize, PassesOtherTensorsThrough) {
  add_single(DType::bf16);
  set_.add("model.layers.0.mlp.gate.weight", DType::bf16, {2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  set_.add("model.layers.0.mlp.shared_expert.up_proj.weight", DType::bf16, {1, 2}, {9, 10, 11, 12});
  const auto report = quantize_checkpoint(write_source(), destination());
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->passed_through, 2);
  const auto files = TensorFiles::open(destination());
  ASSERT_TRUE(files) << files.error().message();
  const TensorView* router = files->find("model.layers.0.mlp.gate.weight");
  ASSERT_NE(router, nullptr);
  EXPECT_EQ(router->dtype, DType::bf16);
  EXPECT_EQ(std::vector<std::uint8_t>(router->bytes.begin(), router->bytes.end()),
            (std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6, 7, 8}));
  std::ifstream in(fs::path(destination()) / "hf_quant_config.json");
  const auto quant = nlohmann::json::parse(in);
  EXPECT_EQ(quant["quantization"]["exclude_modules"],
            (nlohmann::json{"model.layers.0.mlp.gate", "model.layers.0.mlp.shared_expert.up_proj"}));
}

TEST_F(Quantize, MergesTheConfigAndKeepsItReadable) {
  add_single(DType::bf16);
  const std::string source = write_source();
  std::ofstream(fs::path(source) / "config.json") << R"({"model_type": "qwen3_moe", "hidden_size": 48,
      "moe_intermediate_size": 32, "num_experts": 2, "num_experts_per_tok": 1, "num_hidden_layers": 1,
      "time_limit": [0.0, Infinity]})";
  for (const bool static_inputs : {false, true}) {
    for (const Dialect dialect : {Dialect::modelopt, Dialect::compressed_tensors}) {
      QuantizeOptions options;
      options.dialect = dialect;
      if (static_inputs) options.input_scale = 0.5F;
      const auto report = quantize_checkpoint(source, destination(), options);
      ASSERT_TRUE(report) << report.error().message();
      const auto facts = read_model_config(destination());
      ASSERT_TRUE(facts) << facts.error().message();
      EXPECT_EQ(facts->experts, 2);
      EXPECT_EQ(facts->format, static_inputs ? WeightFormat::nvfp4 : WeightFormat::nvfp4_weight_only);
      expect_experts(options);
      fs::remove_all(destination());
    }
  }
}

TEST_F(Quantize, KeepsTheShardsAndSharesAScaleAcrossThem) {
  add_single(DType::bf16);
  const fs::path source = directory_.path() / "sharded";
  fs::create_directories(source);
  std::vector<TensorData> gates;
  std::vector<TensorData> others;
  for (const TensorData& tensor : set_.tensors()) {
    (tensor.name.find("gate_proj") != std::string::npos ? gates : others).push_back(tensor);
  }
  ASSERT_TRUE(write_safetensors((source / "a.safetensors").string(), gates));
  ASSERT_TRUE(write_safetensors((source / "b.safetensors").string(), others));
  const auto report = quantize_checkpoint(source.string(), destination());
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_TRUE(fs::exists(fs::path(destination()) / "a.safetensors"));
  EXPECT_TRUE(fs::exists(fs::path(destination()) / "model.safetensors.index.json"));
  expect_experts({});
}

TEST_F(Quantize, AccountsForEveryMatrix) {
  add_single(DType::f32);
  const auto report = quantize_checkpoint(write_source(), destination());
  ASSERT_TRUE(report) << report.error().message();
  for (const MatrixQuantization& matrix : report->matrices) {
    // A block's largest weight is exact to half a ue4m3 step, and e2m1's widest gap, 4 to 6, rounds by at most 1/6 of
    // it: an error of at most (1/6 + 1/16) * amax, and far less on average.
    EXPECT_GT(matrix.max_error, 0.0);
    EXPECT_LT(matrix.max_error, (1.0 / 6.0 + 1.0 / 16.0) * static_cast<double>(matrix.amax));
    // Normal values in blocks of 16 have about 20.5 dB under this recipe; 3 dB either way is no accident of 1536
    // values.
    EXPECT_NEAR(matrix.snr_db(), 20.4, 2.0);
  }
  EXPECT_NEAR(report->snr_db(), 20.4, 1.0);
  EXPECT_GT(report->bytes_in, report->bytes_out);
}

TEST_F(Quantize, GivesFourOverSixTheBetterSignalToNoiseRatio) {
  add_single(DType::f32);
  const std::string source = write_source();
  const auto six = quantize_checkpoint(source, destination());
  QuantizeOptions options;
  options.selection = ScaleSelection::four_over_six;
  const auto either = quantize_checkpoint(source, directory_.file("four-over-six"), options);
  ASSERT_TRUE(six && either);
  EXPECT_GT(either->snr_db(), six->snr_db());
}

TEST_F(Quantize, CountsBlocksOfZeros) {
  std::fill_n(experts_[0].down.values.begin(), 32, 0.0F);
  add_single(DType::bf16);
  const auto report = quantize_checkpoint(write_source(), destination());
  ASSERT_TRUE(report) << report.error().message();
  std::int64_t zero_blocks = 0;
  for (const MatrixQuantization& matrix : report->matrices) zero_blocks += matrix.zero_blocks;
  EXPECT_EQ(zero_blocks, 2);
}

TEST_F(Quantize, NamesTensorAndElementOfANan) {
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    experts_[1].up.values[50] = value;
    set_ = TensorSet();
    add_single(DType::f32);
    const auto report = quantize_checkpoint(write_source(), destination());
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, ErrorCode::corrupt);
    EXPECT_NE(report.error().cause.find("model.layers.0.mlp.experts.1.up_proj.weight: element 50"), std::string::npos)
        << report.error().message();
    EXPECT_FALSE(fs::exists(destination()));
  }
}

TEST_F(Quantize, LeavesNothingBehindAnError) {
  experts_[0].gate.values[0] = std::numeric_limits<float>::infinity();
  add_single(DType::f32);
  const std::string source = write_source();
  ASSERT_FALSE(quantize_checkpoint(source, destination()));
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(directory_.path())) left.push_back(entry.path().filename().string());
  EXPECT_EQ(left, std::vector<std::string>{"source"});
}

TEST_F(Quantize, DoesNotWriteOverAnything) {
  add_single(DType::bf16);
  const std::string source = write_source();
  const auto report = quantize_checkpoint(source, source);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(report.error().cause.find(source), std::string::npos) << report.error().message();
  fs::create_directories(destination());
  EXPECT_TRUE(quantize_checkpoint(source, destination())) << "an empty directory is as good as a new one";
}

TEST_F(Quantize, NamesWhatItCannotQuantize) {
  set_.add("model.layers.0.self_attn.q_proj.weight", DType::bf16, {1, 2}, {0, 0, 0, 0});
  EXPECT_EQ(quantize_checkpoint(write_source(), destination()).error().code, ErrorCode::not_found);
  set_.add("model.layers.0.mlp.experts.0.up_proj.weight", DType::f8_e4m3, {2, 16}, std::vector<std::uint8_t>(32));
  const auto fp8 = quantize_checkpoint(write_source(), destination());
  ASSERT_FALSE(fp8);
  EXPECT_NE(fp8.error().cause.find("experts.0.up_proj.weight is F8_E4M3"), std::string::npos) << fp8.error().message();
  set_.set("model.layers.0.mlp.experts.0.up_proj.weight", DType::bf16, {2, 24}, std::vector<std::uint8_t>(96));
  const auto odd = quantize_checkpoint(write_source(), destination());
  ASSERT_FALSE(odd);
  EXPECT_NE(odd.error().cause.find("24 columns"), std::string::npos) << odd.error().message();
}

TEST_F(Quantize, RefusesAnInputScaleThatIsNotPositive) {
  add_single(DType::bf16);
  QuantizeOptions options;
  for (const float scale : {0.0F, -1.0F, std::numeric_limits<float>::quiet_NaN()}) {
    options.input_scale = scale;
    const auto report = quantize_checkpoint(write_source(), destination(), options);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, ErrorCode::invalid_argument);
  }
}

}  // namespace
}  // namespace tilewright::testing
