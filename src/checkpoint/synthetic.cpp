// Synthetic checkpoints: real NVFP4 of normal weights, in a model's shape.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "checkpoint/checkpoint_writer.hpp"
#include "checkpoint/matrix_quantizer.hpp"
#include "checkpoint/model_activation.hpp"
#include "checkpoint/model_routing.hpp"
#include "checkpoint/parallel.hpp"
#include "tilewright/float_types.hpp"
#include "tilewright/quantize.hpp"

namespace tilewright {
namespace {

// Trained experts have standard deviations around 0.02; theirs differ by a few tens of percent.
constexpr float kDeviation = 0.02F;
constexpr std::int64_t kShardBytes = std::int64_t{1} << 30U;  // bounds the memory of writing: a shard is held whole

/// splitmix64 (Steele, Lea, Flood 2014): one 64-bit number from a counter, so that any matrix can be drawn alone.
std::uint64_t splitmix64(std::uint64_t& state) {
  state += 0x9E3779B97F4A7C15U;
  std::uint64_t z = state;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

constexpr unsigned kQuantileBits = 12;
constexpr std::size_t kQuantiles = std::size_t{1} << kQuantileBits;

/// The normal distribution as its 4096 quantiles: 12 random bits make a sample, up to 3.7 deviations out.
std::array<float, kQuantiles> normal_quantiles() {
  std::array<float, kQuantiles> quantiles{};
  for (std::size_t i = 0; i < kQuantiles; ++i) {
    const double p = (static_cast<double>(i) + 0.5) / static_cast<double>(kQuantiles);
    double low = -8.0;
    double high = 8.0;
    for (int step = 0; step < 60; ++step) {
      const double middle = 0.5 * (low + high);
      (0.5 * std::erfc(-middle * std::sqrt(0.5)) < p ? low : high) = middle;
    }
    quantiles[i] = static_cast<float>(low);
  }
  return quantiles;
}

void draw_normal(std::span<float> out, float deviation, std::uint64_t& state) {
  static const std::array<float, kQuantiles> quantiles = normal_quantiles();
  constexpr std::size_t kPerDraw = 64 / kQuantileBits;
  for (std::size_t i = 0; i < out.size(); i += kPerDraw) {
    std::uint64_t bits = splitmix64(state);
    for (std::size_t j = i; j < std::min(i + kPerDraw, out.size()); ++j) {
      out[j] = deviation * quantiles[bits & (kQuantiles - 1)];
      bits >>= kQuantileBits;
    }
  }
}

/// A matrix whose rows differ in size as trained ones do, so that its block scales spread over a few powers of two.
std::vector<float> draw_matrix(std::int64_t rows, std::int64_t cols, float deviation, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(rows * cols));
  for (std::int64_t row = 0; row < rows; ++row) {
    float exponent = 0.0F;
    draw_normal({&exponent, 1}, 0.5F, seed);
    draw_normal({values.data() + row * cols, static_cast<std::size_t>(cols)}, deviation * std::exp2(exponent), seed);
  }
  return values;
}

std::uint64_t seed_of(std::uint64_t seed, int layer, int expert, int matrix) {
  std::uint64_t state = seed;
  for (const int part : {layer, expert, matrix}) {
    state ^= static_cast<std::uint64_t>(part);
    state = splitmix64(state);
  }
  return state;
}

struct Shape {
  const char* projection;
  std::int64_t rows, cols;
};

struct ExpertWork {
  int layer = 0;
  int expert = 0;
};

class SyntheticWriter {
 public:
  SyntheticWriter(const ModelFacts& facts, int layers, std::uint64_t seed, const QuantizeOptions& options)
      : facts_(facts), layers_(layers), seed_(seed), options_(options) {
    if (facts.activation.gated()) shapes_.push_back({"gate_proj", facts.intermediate, facts.hidden});
    shapes_.push_back({"up_proj", facts.intermediate, facts.hidden});
    shapes_.push_back({"down_proj", facts.hidden, facts.intermediate});
  }

  Status write(const PendingDirectory& directory) {
    std::vector<ExpertWork> work;
    for (int layer = 0; layer < layers_; ++layer) {
      for (int expert = 0; expert < facts_.experts; ++expert) work.push_back({layer, expert});
    }
    const std::int64_t bytes = std::int64_t{3} * facts_.hidden * facts_.intermediate * 9 / 16;  // 4.5 bits a weight
    const auto a_shard = static_cast<std::size_t>(std::max<std::int64_t>(1, kShardBytes / bytes));
    const std::size_t shards = (work.size() + a_shard - 1) / a_shard;
    for (std::size_t shard = 0; shard < shards; ++shard) {
      const std::string name =
          shards == 1 ? "model.safetensors" : fmt::format("model-{:05}-of-{:05}.safetensors", shard + 1, shards);
      const auto first = work.begin() + static_cast<std::ptrdiff_t>(shard * a_shard);
      const auto last = work.begin() + static_cast<std::ptrdiff_t>(std::min(work.size(), (shard + 1) * a_shard));
      TILEWRIGHT_TRY(write_shard(directory, name, {first, last}));
    }
    if (shards > 1) {
      TILEWRIGHT_TRY(
          directory.write_text("model.safetensors.index.json", index_text(tensor_files_, report_.bytes_out)));
    }
    return write_configs(directory);
  }

  [[nodiscard]] QuantizeReport take_report() { return std::move(report_); }

 private:
  Status write_shard(const PendingDirectory& directory, const std::string& name, const std::vector<ExpertWork>& work) {
    std::vector<std::vector<EncodedMatrix>> experts(work.size());
    std::vector<std::vector<MatrixQuantization>> accounts(work.size());
    TILEWRIGHT_TRY(for_each_parallel(static_cast<int>(work.size()), [&](int i) -> Status {
      const auto at = static_cast<std::size_t>(i);
      encode_expert(work[at], experts[at], accounts[at]);
      return {};
    }));
    std::vector<TensorData> tensors;
    std::deque<std::vector<std::uint8_t>> routers;
    for (std::size_t i = 0; i < work.size(); ++i) {
      if (work[i].expert == 0) append_router(work[i].layer, routers, tensors);
      for (const EncodedMatrix& matrix : experts[i]) append_tensors(matrix, options_, tensors);
      report_.matrices.insert(report_.matrices.end(), accounts[i].begin(), accounts[i].end());
    }
    for (const TensorData& tensor : tensors) {
      tensor_files_.emplace_back(tensor.name, name);
      report_.bytes_out += static_cast<std::int64_t>(tensor.bytes.size());
    }
    return write_safetensors(directory.file(name), tensors, {{"format", "pt"}});
  }

  void encode_expert(const ExpertWork& work, std::vector<EncodedMatrix>& encoded,
                     std::vector<MatrixQuantization>& accounts) const {
    std::vector<std::vector<float>> values;
    std::vector<float> amaxes;
    std::uint64_t spread = seed_of(seed_, work.layer, work.expert, -1);
    const float deviation = kDeviation * (0.75F + 0.5F * static_cast<float>(splitmix64(spread) >> 40U) * 0x1p-24F);
    for (std::size_t m = 0; m < shapes_.size(); ++m) {
      values.push_back(draw_matrix(shapes_[m].rows, shapes_[m].cols, deviation,
                                   seed_of(seed_, work.layer, work.expert, static_cast<int>(m))));
      std::int64_t bad = -1;
      amaxes.push_back(largest_magnitude(values.back(), bad));
    }
    if (shapes_.size() == 3 && options_.share_gate_up_scale) amaxes[0] = amaxes[1] = std::max(amaxes[0], amaxes[1]);
    for (std::size_t m = 0; m < shapes_.size(); ++m) {
      const Shape& shape = shapes_[m];
      EncodedMatrix matrix;
      matrix.module = fmt::format("model.layers.{}.mlp.experts.{}.{}", work.layer, work.expert, shape.projection);
      matrix.rows = shape.rows;
      matrix.cols = shape.cols;
      matrix.codes.resize(values[m].size() / 2);
      matrix.scales.resize(values[m].size() / kBlock);
      matrix.stored_global_scale = stored_scale(global_scale_for(amaxes[m], options_.selection), options_.dialect);
      matrix.stored_input_scale = stored_scale(options_.input_scale.value_or(1.0F), options_.dialect);
      accounts.push_back(quantize_matrix(values[m].data(), shape.rows, shape.cols,
                                         stored_scale(matrix.stored_global_scale, options_.dialect), options_.selection,
                                         matrix.codes.data(), matrix.scales.data()));
      accounts.back().name = matrix.module;
      encoded.push_back(std::move(matrix));
    }
  }

  void append_router(int layer, std::deque<std::vector<std::uint8_t>>& buffers, std::vector<TensorData>& tensors) {
    const std::string prefix = fmt::format("model.layers.{}.mlp.gate.", layer);
    std::uint64_t state = seed_of(seed_, layer, -1, 0);
    std::vector<float> values(static_cast<std::size_t>(facts_.experts) * static_cast<std::size_t>(facts_.hidden));
    draw_normal(values, kDeviation, state);
    std::vector<std::uint8_t> bytes(values.size() * sizeof(bf16));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bf16 rounded = to_bf16(values[i]);
      std::memcpy(bytes.data() + i * sizeof(bf16), &rounded, sizeof(bf16));
    }
    buffers.push_back(std::move(bytes));
    tensors.push_back({prefix + "weight", DType::bf16, {facts_.experts, facts_.hidden}, buffers.back()});
    ++report_.passed_through;
    if (!facts_.routing.selection_bias) return;
    values.resize(static_cast<std::size_t>(facts_.experts));
    draw_normal(values, kDeviation, state);
    std::vector<std::uint8_t> bias(values.size() * sizeof(float));
    std::memcpy(bias.data(), values.data(), bias.size());
    buffers.push_back(std::move(bias));
    tensors.push_back({prefix + "e_score_correction_bias", DType::f32, {facts_.experts}, buffers.back()});
    ++report_.passed_through;
  }

  Status write_configs(const PendingDirectory& directory) const {
    Modules routers;
    for (int layer = 0; layer < layers_; ++layer) routers.push_back(fmt::format("model.layers.{}.mlp.gate", layer));
    const Routing& routing = facts_.routing;
    nlohmann::json config = {{"model_type", "tilewright_synthetic"},
                             {"hidden_size", facts_.hidden},
                             {"moe_intermediate_size", facts_.intermediate},
                             {"num_experts", facts_.experts},
                             {"num_hidden_layers", layers_},
                             {"n_shared_experts", facts_.shared_experts},
                             {"num_experts_per_tok", routing.top_k},
                             {"scoring_func", to_string(routing.scoring)},
                             {"norm_topk_prob", routing.renormalize},
                             {"routed_scaling_factor", routing.scaling_factor},
                             {"n_group", routing.groups},
                             {"topk_group", routing.top_groups},
                             {"topk_method", routing.selection_bias ? "noaux_tc" : "greedy"},
                             {"hidden_act", hidden_act_name(facts_.activation.kind)},
                             {"quantization_config", quantization_config(options_, routers)}};
    if (facts_.activation.has_limit()) config["swiglu_limit"] = facts_.activation.limit;
    TILEWRIGHT_TRY(directory.write_text("config.json", config.dump(2) + "\n"));
    if (options_.dialect != Dialect::modelopt) return {};
    return directory.write_text("hf_quant_config.json", hf_quant_config(options_, routers));
  }

  const ModelFacts& facts_;
  int layers_;
  std::uint64_t seed_;
  QuantizeOptions options_;
  std::vector<Shape> shapes_;
  std::vector<std::pair<std::string, std::string>> tensor_files_;
  QuantizeReport report_;
};

Status check_shape(const ModelFacts& facts, int layers) {
  if (layers < 1) {
    return fail(ErrorCode::invalid_argument, fmt::format("{} layers are none to write", layers), "give at least 1");
  }
  if (facts.experts >= 2 && facts.hidden > 0 && facts.intermediate > 0 && facts.hidden % kBlock == 0 &&
      facts.intermediate % kBlock == 0) {
    return {};
  }
  return fail(ErrorCode::invalid_argument,
              fmt::format("{} experts of hidden {} and intermediate {} cannot be NVFP4", facts.experts, facts.hidden,
                          facts.intermediate),
              "give at least 2 experts, and sizes that are multiples of 16");
}

}  // namespace

Result<QuantizeReport> write_synthetic_checkpoint(const std::string& destination, const ModelFacts& facts, int layers,
                                                  std::uint64_t seed, const QuantizeOptions& options) {
  TILEWRIGHT_TRY(check_shape(facts, layers));
  TILEWRIGHT_ASSIGN(PendingDirectory directory, PendingDirectory::create(destination));
  SyntheticWriter writer(facts, layers, seed, options);
  TILEWRIGHT_TRY(writer.write(directory));
  TILEWRIGHT_TRY(directory.commit());
  return writer.take_report();
}

}  // namespace tilewright
