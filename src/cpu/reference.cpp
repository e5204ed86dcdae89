#include "cpu/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

#include "cpu/activation_math.hpp"
#include "numerics/input_scales.hpp"
#include "tilewright/nvfp4.hpp"

namespace tilewright::cpu {

namespace {

constexpr int kLanes = 8;               ///< partial sums of a dot product (see reference_gemm)
constexpr std::int64_t kRowBlock = 32;  ///< output features a thread takes at a time

/// Activation rows as a GEMM reads them: row r is scale[r] * values[r, :], with every value exact in fp32.
struct Rows {
  std::int64_t width = 0;
  std::vector<float> values;
  std::vector<double> scale;

  Rows(std::int64_t count, std::int64_t row_width)
      : width(row_width),
        values(static_cast<std::size_t>(count * row_width)),
        scale(static_cast<std::size_t>(count), 1.0) {}

  [[nodiscard]] float* row(std::int64_t r) { return values.data() + r * width; }
  [[nodiscard]] const float* row(std::int64_t r) const { return values.data() + r * width; }
};

/// The slots (t * top_k + s) of each expert that lives here, ascending, and whether a slot has such an expert.
struct SlotLists {
  std::vector<std::vector<std::int64_t>> of_expert;
  std::vector<bool> live;
};

/// One weight row in double; the buffers of its codes and scales are reused from row to row.
class WeightRow {
 public:
  explicit WeightRow(std::int64_t cols)
      : codes_(static_cast<std::size_t>(cols / 2)),
        scales_(static_cast<std::size_t>(cols / kBlock)),
        values_(static_cast<std::size_t>(cols)) {}

  const double* load(const Nvfp4Matrix& matrix, std::int64_t n) {
    matrix.read_row(n, codes_.data(), scales_.data());
    for (std::size_t b = 0; b < scales_.size(); ++b) {
      const double scale = decode_ue4m3(scales_[b]);
      for (std::size_t i = 0; i < kBlock / 2; ++i) {
        const std::uint8_t pair = codes_[b * kBlock / 2 + i];
        values_[b * kBlock + 2 * i] = scale * kE2m1Values[pair & 0xFU];
        values_[b * kBlock + 2 * i + 1] = scale * kE2m1Values[pair >> 4U];
      }
    }
    return values_.data();
  }

 private:
  std::vector<std::uint8_t> codes_;
  std::vector<std::uint8_t> scales_;
  std::vector<double> values_;
};

/// Dot product of a weight row and an activation row; k is a multiple of 16. The partial sums are independent, so that
/// they vectorize without leave to reorder.
template <typename T>
double dot(const double* w, const T* x, std::int64_t k) {
  double sum[kLanes] = {};
  for (std::int64_t i = 0; i < k; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) sum[lane] += w[i + lane] * static_cast<double>(x[i + lane]);
  }
  return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

/// out[i] = scale[rows[i]] * dot(w, row rows[i]) for every i.
void dot_rows(const double* w, const Rows& x, const std::vector<std::int64_t>& rows, double* out) {
  for (std::size_t i = 0; i < rows.size(); ++i) out[i] = x.scale[rows[i]] * dot(w, x.row(rows[i]), x.width);
}

/// Calls body(item) for every item on `threads` threads (the caller's is one of them). A machine that refuses another
/// thread gets the same result from those it has.
template <typename Body>
void parallel_for(std::int64_t items, int threads, const Body& body) {
  std::atomic<std::int64_t> next{0};
  const auto work = [&] {
    for (std::int64_t item = next++; item < items; item = next++) body(item);
  };
  std::vector<std::thread> others;
  try {
    while (static_cast<int>(others.size()) + 1 < threads) others.emplace_back(work);
  } catch (const std::system_error&) {
  }
  work();
  for (std::thread& other : others) other.join();
}

/// Replaces a row by its NVFP4 codes times block scales; the returned input scale is what is left to multiply by.
double quantize_in_place(std::span<float> row, std::optional<float> input_scale) {
  std::vector<std::uint8_t> codes(row.size() / 2);
  std::vector<std::uint8_t> scales(row.size() / kBlock);
  const float scale = row_input_scale(input_scale, row);
  quantize_row(row, quant_multiplier(scale), codes, scales);
  dequantize_row(codes, scales, 1.0F, row);
  return scale;
}

/// What one run of the layer works on.
struct Layer {
  const ExpertWeights& weights;
  const Activation& activation;
  Precision precision;
  const RoutedTokens& routed;
  SlotLists slots;
  int threads;

  [[nodiscard]] std::int64_t slot_count() const { return static_cast<std::int64_t>(routed.ids.size()); }
  [[nodiscard]] std::int64_t expert_count() const { return static_cast<std::int64_t>(weights.experts.size()); }
};

Status check_matrix(const Nvfp4Matrix& matrix, std::int64_t rows, std::int64_t cols, int expert, const char* name) {
  if (matrix.rows == rows && matrix.cols == cols && cols % kBlock == 0) return {};
  return fail(ErrorCode::mismatch,
              fmt::format("expert {} {} is {} x {} where the layer has {} x {}", expert, name, matrix.rows, matrix.cols,
                          rows, cols),
              "give every expert of a layer the same shapes, with columns in whole blocks of 16");
}

Status check_weights(const ExpertWeights& weights, const Activation& activation) {
  if (weights.gated != activation.gated()) {
    return fail(ErrorCode::mismatch,
                fmt::format("activation {} with {} expert weights", to_string(activation.kind),
                            weights.gated ? "gated" : "non-gated"),
                "take the activation from the model's config.json");
  }
  const auto end = static_cast<std::int64_t>(weights.first_expert) + static_cast<std::int64_t>(weights.experts.size());
  if (weights.first_expert < 0 || end > weights.global_experts) {
    return fail(ErrorCode::mismatch,
                fmt::format("experts {} to {} of a layer of {}", weights.first_expert, end - 1, weights.global_experts),
                "set first_expert and global_experts to this rank's slice of the layer");
  }
  for (std::size_t e = 0; e < weights.experts.size(); ++e) {
    const Nvfp4Expert& expert = weights.experts[e];
    const int id = weights.first_expert + static_cast<int>(e);
    if (weights.gated) TILEWRIGHT_TRY(check_matrix(expert.gate, weights.intermediate, weights.hidden, id, "gate"));
    TILEWRIGHT_TRY(check_matrix(expert.up, weights.intermediate, weights.hidden, id, "up"));
    TILEWRIGHT_TRY(check_matrix(expert.down, weights.hidden, weights.intermediate, id, "down"));
  }
  return {};
}

Status check_routed(const RoutedTokens& routed, int global_experts) {
  const std::int64_t slots = static_cast<std::int64_t>(routed.tokens) * routed.top_k;
  if (routed.tokens < 0 || routed.top_k < 1 || static_cast<std::int64_t>(routed.ids.size()) != slots ||
      static_cast<std::int64_t>(routed.weights.size()) != slots) {
    return fail(ErrorCode::mismatch,
                fmt::format("{} ids and {} weights for {} tokens x {} slots", routed.ids.size(), routed.weights.size(),
                            routed.tokens, routed.top_k),
                "give one id and one weight a slot");
  }
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    const int id = routed.ids[slot];
    if (id >= -1 && id < global_experts) continue;
    return fail(ErrorCode::invalid_argument,
                fmt::format("token {} slot {} has expert {}, outside 0 to {}", slot / routed.top_k, slot % routed.top_k,
                            id, global_experts - 1),
                "use global expert ids, and -1 for a slot to ignore");
  }
  return {};
}

SlotLists list_slots(const ExpertWeights& weights, const RoutedTokens& routed) {
  SlotLists slots{std::vector<std::vector<std::int64_t>>(weights.experts.size()),
                  std::vector<bool>(routed.ids.size(), false)};
  for (std::size_t slot = 0; slot < routed.ids.size(); ++slot) {
    const std::int64_t local = static_cast<std::int64_t>(routed.ids[slot]) - weights.first_expert;
    if (routed.ids[slot] < 0 || local < 0 || local >= static_cast<std::int64_t>(weights.experts.size())) continue;
    slots.of_expert[local].push_back(static_cast<std::int64_t>(slot));
    slots.live[slot] = true;
  }
  return slots;
}

/// The rows that GEMM1 reads: one a token, or one a slot where the router weight scales the input.
Rows input_rows(const Layer& layer, const bf16* x) {
  const std::int64_t hidden = layer.weights.hidden;
  const bool by_slot = layer.routed.scale_input;
  const std::int64_t count = by_slot ? layer.slot_count() : layer.routed.tokens;
  const std::optional<float> fixed_scale = gemm1_input_scale(layer.weights);
  Rows rows(count, hidden);
  parallel_for(count, layer.threads, [&](std::int64_t r) {
    const bf16* token = x + (by_slot ? r / layer.routed.top_k : r) * hidden;
    float* row = rows.row(r);
    for (std::int64_t k = 0; k < hidden; ++k) {
      row[k] = to_float(by_slot ? scaled_input(token[k], layer.routed.weights[r]) : token[k]);
    }
    if (layer.precision == Precision::w4a4) {
      rows.scale[r] = quantize_in_place({row, static_cast<std::size_t>(hidden)}, fixed_scale);
    }
  });
  return rows;
}

/// GEMM1 and the activation for output features [begin, end) of one expert.
void intermediate_block(const Layer& layer, std::int64_t e, std::int64_t begin, std::int64_t end, const Rows& x,
                        Rows& intermediate) {
  const Nvfp4Expert& expert = layer.weights.experts[e];
  const std::vector<std::int64_t>& slots = layer.slots.of_expert[e];
  std::vector<std::int64_t> inputs = slots;
  if (!layer.routed.scale_input) {
    for (std::int64_t& input : inputs) input /= layer.routed.top_k;
  }
  WeightRow weight_row(layer.weights.hidden);
  std::vector<double> gate(slots.size());
  std::vector<double> up(slots.size());
  for (std::int64_t n = begin; n < end; ++n) {
    if (layer.weights.gated) dot_rows(weight_row.load(expert.gate, n), x, inputs, gate.data());
    dot_rows(weight_row.load(expert.up, n), x, inputs, up.data());
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const double value =
          activate<double>(layer.activation, gate[i] * expert.gate.global_scale, up[i] * expert.up.global_scale);
      intermediate.row(slots[i])[n] = to_float(nearest_bf16(value));
    }
  }
}

Rows intermediate_rows(const Layer& layer, const Rows& x) {
  const std::int64_t features = layer.weights.intermediate;
  const std::int64_t blocks = (features + kRowBlock - 1) / kRowBlock;
  Rows rows(layer.slot_count(), features);
  parallel_for(layer.expert_count() * blocks, layer.threads, [&](std::int64_t item) {
    const std::int64_t begin = item % blocks * kRowBlock;
    if (layer.slots.of_expert[item / blocks].empty()) return;
    intermediate_block(layer, item / blocks, begin, std::min(begin + kRowBlock, features), x, rows);
  });
  if (layer.precision == Precision::w4a4) {
    parallel_for(layer.expert_count(), layer.threads, [&](std::int64_t e) {
      for (const std::int64_t slot : layer.slots.of_expert[e]) {
        rows.scale[slot] = quantize_in_place({rows.row(slot), static_cast<std::size_t>(features)},
                                             layer.weights.experts[e].down.input_scale);
      }
    });
  }
  return rows;
}

/// GEMM2 and the weighted sum for output features [begin, end): by feature, so that a token's slots meet in slot order
/// without a [slots, H] buffer.
void output_block(const Layer& layer, std::int64_t begin, std::int64_t end, const Rows& intermediate, double* y) {
  const std::int64_t width = end - begin;
  std::vector<double> partial(static_cast<std::size_t>(layer.slot_count() * width));
  std::vector<double> column;
  WeightRow weight_row(layer.weights.intermediate);
  for (std::int64_t e = 0; e < layer.expert_count(); ++e) {
    const Nvfp4Matrix& down = layer.weights.experts[e].down;
    const std::vector<std::int64_t>& slots = layer.slots.of_expert[e];
    if (slots.empty()) continue;
    column.resize(slots.size());
    for (std::int64_t n = begin; n < end; ++n) {
      dot_rows(weight_row.load(down, n), intermediate, slots, column.data());
      for (std::size_t i = 0; i < slots.size(); ++i) {
        partial[slots[i] * width + n - begin] = column[i] * down.global_scale;
      }
    }
  }
  for (std::int64_t slot = 0; slot < layer.slot_count(); ++slot) {
    if (!layer.slots.live[slot]) continue;
    const double weight = layer.routed.scale_input ? 1.0 : layer.routed.weights[slot];
    double* row = y + slot / layer.routed.top_k * layer.weights.hidden + begin;
    for (std::int64_t n = 0; n < width; ++n) row[n] += weight * partial[slot * width + n];
  }
}

}  // namespace

bf16 nearest_bf16(double x) {
  // Rounding to odd keeps in the last bit of an fp32 that something was cut off; 24 bits are then enough for the
  // second rounding (to 8 bits) to come out as if it had seen x itself.
  auto nearest = static_cast<float>(x);
  if (static_cast<double>(nearest) != x && !std::isnan(x)) {
    if (std::abs(static_cast<double>(nearest)) > std::abs(x)) nearest = std::nextafter(nearest, 0.0F);
    nearest = std::bit_cast<float>(std::bit_cast<std::uint32_t>(nearest) | 1U);
  }
  return to_bf16(nearest);
}

Status reference_gemm(const Nvfp4Matrix& matrix, std::span<const double> x, std::span<double> y) {
  if (matrix.cols % kBlock != 0 || static_cast<std::int64_t>(x.size()) != matrix.cols ||
      static_cast<std::int64_t>(y.size()) != matrix.rows) {
    return fail(
        ErrorCode::mismatch,
        fmt::format("a {} x {} matrix with {} inputs and {} outputs", matrix.rows, matrix.cols, x.size(), y.size()),
        "give one input a column (in whole blocks of 16) and one output a row");
  }
  WeightRow weight_row(matrix.cols);
  for (std::int64_t n = 0; n < matrix.rows; ++n) {
    y[n] = dot(weight_row.load(matrix, n), x.data(), matrix.cols) * matrix.global_scale;
  }
  return {};
}

Status reference_layer(const ExpertWeights& weights, const Activation& activation, Precision precision, const bf16* x,
                       const RoutedTokens& routed, double* y, const ReferenceOptions& options) {
  TILEWRIGHT_TRY(check(activation));
  TILEWRIGHT_TRY(check_weights(weights, activation));
  TILEWRIGHT_TRY(check_routed(routed, weights.global_experts));
  if (precision == Precision::w4a4) TILEWRIGHT_TRY(check_input_scales(weights));
  const int threads = options.threads > 0 ? options.threads : static_cast<int>(std::thread::hardware_concurrency());
  const Layer layer{weights, activation, precision, routed, list_slots(weights, routed), threads};

  std::fill_n(y, routed.tokens * weights.hidden, 0.0);
  const Rows intermediate = intermediate_rows(layer, input_rows(layer, x));
  const std::int64_t blocks = (weights.hidden + kRowBlock - 1) / kRowBlock;
  parallel_for(blocks, threads, [&](std::int64_t block) {
    const std::int64_t begin = block * kRowBlock;
    output_block(layer, begin, std::min(begin + kRowBlock, weights.hidden), intermediate, y);
  });
  return {};
}

}  // namespace tilewright::cpu
