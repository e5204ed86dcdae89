#include "tools/tilewright/layer_inputs.hpp"

#include <cmath>
#include <memory>
#include <numbers>

#include "tilewright/nvfp4.hpp"

namespace tilewright::cli {
namespace {

// Codes and scales of one matrix, drawn from `random`, as views of bytes that live in `storage`.
Nvfp4Matrix random_matrix(std::int64_t rows, std::int64_t cols, Random& random,
                          std::vector<std::vector<std::uint8_t>>& storage) {
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(rows * cols / 2));
  for (std::uint8_t& byte : codes) byte = static_cast<std::uint8_t>(random.bits() >> 56U);
  std::vector<std::uint8_t> scales(static_cast<std::size_t>(rows * cols / kBlock));
  for (std::uint8_t& byte : scales) byte = encode_ue4m3(static_cast<float>(0.5 + random.uniform()));
  Nvfp4Matrix matrix;
  matrix.rows = matrix.valid_rows = rows;
  matrix.cols = matrix.valid_cols = cols;
  matrix.code_row_stride = cols / 2;
  matrix.scale_row_stride = cols / kBlock;
  // Uniform codes have a mean square of 8.6 and scales one of about 1.1: this makes |W x| about |x|.
  const double deviation = std::sqrt(8.6 * 1.1 * static_cast<double>(cols));
  matrix.global_scale = static_cast<float>((0.75 + 0.5 * random.uniform()) / deviation);
  storage.push_back(std::move(codes));
  matrix.codes = storage.back().data();
  storage.push_back(std::move(scales));
  matrix.scales = storage.back().data();
  return matrix;
}

}  // namespace

std::uint64_t Random::bits() {
  std::uint64_t z = state_ += 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31U);
}

double Random::uniform() { return (static_cast<double>(bits() >> 11U) + 0.5) * 0x1p-53; }

double Random::normal() {  // Box-Muller
  const double radius = std::sqrt(-2.0 * std::log(uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

std::vector<bf16> random_activations(int tokens, std::int64_t hidden, std::uint64_t seed) {
  Random random(seed);
  std::vector<bf16> x(static_cast<std::size_t>(tokens) * static_cast<std::size_t>(hidden));
  for (bf16& value : x) value = to_bf16(static_cast<float>(random.normal()));
  return x;
}

std::vector<float> random_logits(int tokens, int experts, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> logits(static_cast<std::size_t>(tokens) * static_cast<std::size_t>(experts));
  for (float& value : logits) value = static_cast<float>(random.normal());
  return logits;
}

std::vector<float> router_logits(const Router& router, const std::vector<bf16>& x, int tokens) {
  const auto hidden = static_cast<std::size_t>(router.hidden);
  const std::size_t experts = router.weight.size() / hidden;
  std::vector<float> logits(static_cast<std::size_t>(tokens) * experts);
  std::vector<float> token(hidden);
  for (std::size_t t = 0; t < static_cast<std::size_t>(tokens); ++t) {
    for (std::size_t h = 0; h < hidden; ++h) token[h] = to_float(x[t * hidden + h]);
    for (std::size_t e = 0; e < experts; ++e) {
      float sum = router.logit_bias.empty() ? 0.0F : router.logit_bias[e];
      for (std::size_t h = 0; h < hidden; ++h) sum += token[h] * router.weight[e * hidden + h];
      logits[t * experts + e] = sum;
    }
  }
  return logits;
}

ExpertWeights random_experts(const RandomExperts& shape, std::uint64_t seed) {
  Random random(seed);
  auto storage = std::make_shared<std::vector<std::vector<std::uint8_t>>>();
  ExpertWeights weights;
  for (int expert = 0; expert < shape.experts; ++expert) {
    Nvfp4Expert matrices;
    if (shape.gated) matrices.gate = random_matrix(shape.intermediate, shape.hidden, random, *storage);
    matrices.up = random_matrix(shape.intermediate, shape.hidden, random, *storage);
    matrices.down = random_matrix(shape.hidden, shape.intermediate, random, *storage);
    weights.experts.push_back(matrices);
  }
  weights.hidden = shape.hidden;
  weights.intermediate = shape.intermediate;
  weights.first_expert = shape.first_expert;
  weights.global_experts = shape.global_experts;
  weights.gated = shape.gated;
  weights.storage = storage;
  return weights;
}

}  // namespace tilewright::cli
