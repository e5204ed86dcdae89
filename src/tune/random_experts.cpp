#include "tune/random_experts.hpp"

#include <random>
#include <vector>

#include "tilewright/nvfp4.hpp"

namespace tilewright::tune {
namespace {

Nvfp4Matrix view(const std::vector<std::uint8_t>& codes, const std::vector<std::uint8_t>& scales, std::int64_t rows,
                 std::int64_t cols) {
  Nvfp4Matrix matrix;
  matrix.codes = codes.data();
  matrix.scales = scales.data();
  matrix.rows = matrix.valid_rows = rows;
  matrix.cols = matrix.valid_cols = cols;
  matrix.code_row_stride = cols / 2;
  matrix.scale_row_stride = cols / kBlock;
  // Keeps outputs near the size of the inputs: e2m1 * ue4m3 has a standard deviation of about 600 here.
  matrix.global_scale = 1.0F / (600.0F * 64.0F);
  matrix.input_scale = 1.0F / 448.0F;
  return matrix;
}

}  // namespace

ExpertWeights random_experts(const ModelFacts& model, int first, int count, int tp, std::uint64_t seed) {
  struct Bytes {
    std::vector<std::uint8_t> codes;
    std::vector<std::uint8_t> scales;
  };
  const std::int64_t intermediate = model.intermediate / tp;
  const std::int64_t weights = intermediate * model.hidden;
  auto bytes = std::make_shared<Bytes>();
  bytes->codes.resize(static_cast<std::size_t>(weights / 2));
  bytes->scales.resize(static_cast<std::size_t>(weights / kBlock));
  std::mt19937_64 random(seed);
  for (auto& byte : bytes->codes) byte = static_cast<std::uint8_t>(random());
  // 64 to 448: what blocks of a tensor whose largest block maps to 448 mostly hold.
  for (auto& byte : bytes->scales) byte = static_cast<std::uint8_t>(0x68 + random() % 23);
  ExpertWeights experts;
  experts.hidden = model.hidden;
  experts.intermediate = intermediate;
  experts.gated = model.activation.gated();
  experts.first_expert = first;
  experts.global_experts = model.experts;
  Nvfp4Expert expert;
  expert.up = view(bytes->codes, bytes->scales, intermediate, model.hidden);
  if (experts.gated) expert.gate = expert.up;
  expert.down = view(bytes->codes, bytes->scales, model.hidden, intermediate);
  experts.experts.assign(static_cast<std::size_t>(count), expert);
  experts.storage = bytes;
  return experts;
}

}  // namespace tilewright::tune
