#include "cuda/sm120_case.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>

#include "cpu/reference.hpp"
#include "cuda/device.hpp"
#include "cuda/device_memory.hpp"
#include "cuda/nvfp4_matrix.hpp"
#include "cuda/packed_matrix.hpp"
#include "tilewright/float_types.hpp"
#include "tilewright/nvfp4.hpp"

namespace tilewright::cuda {
namespace {

constexpr int kSamples = 1200;
constexpr float kQuantMultiplier = 3.5F;

struct Sum {
  double value = 0.0;
  double magnitude = 0.0;
};

class Problem {
 public:
  Problem(const Schedule& schedule, const Sm120Case& test)
      : epilogue_(schedule.epilogue), wide_(schedule.precision == Precision::w4a16), test_(test), random_(test.seed) {
    const bool joined = gated(epilogue_);
    std::vector<float> row_scales;
    std::vector<std::uint8_t> packed;
    for (const int count : test.counts) {
      lower_.push_back(random_matrix(joined ? test.n / 2 : test.n, test.k, random_));
      upper_.push_back(joined ? random_matrix(test.n / 2, test.k, random_) : Matrix{});
      const Nvfp4Matrix& lower = lower_.back().view;
      const Nvfp4Matrix& upper = joined ? upper_.back().view : lower;
      stride_ = packed_bytes(lower, upper, WeightOrder::sm120);
      packed.resize(packed.size() + static_cast<std::size_t>(stride_));
      if (!pack_matrix(lower, upper, packed.data() + packed.size() - stride_, WeightOrder::sm120))
        throw std::runtime_error("packing failed");
      row_scales.push_back(lower.global_scale);
      row_scales.push_back(upper.global_scale);
      ranges_.push_back({grouped_, count});
      for (int r = 0; r < count; ++r) places_.push_back({static_cast<int>(ranges_.size()) - 1, grouped_ + r});
      grouped_ = (grouped_ + count + 7) / 8 * 8;
    }
    draw_tokens(std::max(grouped_, 8));
    std::vector<std::int32_t> shuffled(places_.size());
    std::iota(shuffled.begin(), shuffled.end(), 0);
    std::shuffle(shuffled.begin(), shuffled.end(), random_);
    dests_.assign(static_cast<std::size_t>(grouped_), -1);
    for (std::size_t r = 0; r < places_.size(); ++r) dests_[places_[r].grouped] = shuffled[r];
    for (int r = 0; r < grouped_; ++r) {
      weights_.push_back(static_cast<float>(random_() % 1000) / 1000.0F);
      x_scales_.push_back(0.01F * static_cast<float>(1 + random_() % 7));
    }
    device_.emplace_back(packed);
    device_.emplace_back(row_scales);
    device_.emplace_back(wide_ ? bf16_tokens() : nvfp4_tokens());
    device_.emplace_back(x_scales_);
    device_.emplace_back(dests_);
    device_.emplace_back(weights_);
    device_.emplace_back(ranges_);
    device_.emplace_back(std::vector<float>(test.counts.size(), kQuantMultiplier));
  }

  [[nodiscard]] int channels() const { return gated(epilogue_) ? test_.n / 2 : test_.n; }
  [[nodiscard]] int rows() const { return static_cast<int>(places_.size()); }
  [[nodiscard]] std::size_t y_bytes() const {
    if (stores_nvfp4(epilogue_)) return static_cast<std::size_t>(sm120::token_bytes(grouped_, channels()));
    if (arranges()) return static_cast<std::size_t>(sm120::bf16_token_bytes(grouped_, channels()));
    return places_.size() * static_cast<std::size_t>(channels()) * 2;
  }

  [[nodiscard]] sm120::GemmParams params() const {
    sm120::GemmParams p;
    p.weights = device_[0].as<std::uint8_t>();
    p.expert_stride = stride_;
    p.row_scales = device_[1].as<float>();
    p.x = device_[2].as<std::uint8_t>();
    p.x_scales = wide_ ? nullptr : device_[3].as<float>();
    p.row_dest = device_[4].as<std::int32_t>();
    p.row_weights = device_[5].as<float>();
    p.row_ranges = device_[6].as<RowRange>();
    p.quant_multipliers = device_[7].as<float>();
    p.y_stride = channels();
    p.group_rows = grouped_;
    p.experts = static_cast<int>(test_.counts.size());
    p.weight_rows = test_.n;
    p.k = test_.k;
    p.gated = gated_formula({ActivationKind::silu_gated, 0.0F});
    return p;
  }

  /// What a row's channel should be, and the sum of magnitudes that its fp32 sums may round by.
  [[nodiscard]] Sum expected(int row, int channel) const {
    const Place& place = places_[row];
    const Sum lower = dot(lower_[place.expert], channel, place.grouped);
    if (gated(epilogue_)) {
      const Sum upper = dot(upper_[place.expert], channel, place.grouped);
      const double silu = lower.value / (1.0 + std::exp(-lower.value));
      return {silu * upper.value, lower.magnitude * std::abs(upper.value) + upper.magnitude * std::abs(silu)};
    }
    if (activates(epilogue_)) {
      return {lower.value > 0.0 ? lower.value * lower.value : 0.0, 2.0 * lower.magnitude * std::abs(lower.value)};
    }
    if (epilogue_ != Epilogue::finalize) return lower;
    const double weight = weights_[place.grouped];
    return {lower.value * weight, lower.magnitude * weight};
  }

  void check_rows(Sm120Outcome& outcome) const {
    const auto* y = reinterpret_cast<const std::uint16_t*>(outcome.y.data());
    outcome.unwritten = static_cast<std::size_t>(std::count(y, y + outcome.y.size() / 2, 0xFFFF));
    if (arranges()) outcome.dirty_padding = dirty_values(y);
    std::mt19937 random(test_.seed + 1);
    for (int i = 0; i < kSamples && rows() > 0; ++i) {
      const int row = i < rows() ? i : static_cast<int>(random() % static_cast<unsigned>(rows()));
      const int channel = static_cast<int>(random() % static_cast<unsigned>(channels()));
      const Sum sum = expected(row, channel);
      const double got = bf16(y[value_of(places_[row].grouped, channel)]);
      double error =
          std::abs(got - sum.value) / (std::abs(sum.value) * (1.0 / 256.0 + (gated(epilogue_) ? 1e-5 : 0.0)) +
                                       accumulation() * sum.magnitude + 1e-30);
      if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
      if (error <= outcome.worst) continue;
      outcome.worst = error;
      outcome.where = "row " + std::to_string(row) + " channel " + std::to_string(channel);
    }
  }

  void check_blocks(Sm120Outcome& outcome) const {
    std::mt19937 random(test_.seed + 1);
    const int per_row = channels() / kBlock;
    for (int i = 0; i < kSamples / kBlock * 2 && rows() > 0; ++i) {
      const int row = i < rows() ? i : static_cast<int>(random() % static_cast<unsigned>(rows()));
      const int b = static_cast<int>(random() % static_cast<unsigned>(per_row));
      check_block(row, b, outcome);
    }
    outcome.dirty_padding = dirty_padding(outcome.y);
  }

 private:
  struct Place {
    int expert;
    int grouped;
  };

  /// Activations of w4a16 go on to GEMM2 in tile order.
  [[nodiscard]] bool arranges() const { return wide_ && (gated(epilogue_) || activates(epilogue_)); }

  /// Where a value of bf16 output is.
  [[nodiscard]] std::size_t value_of(int grouped, int channel) const {
    if (arranges()) return static_cast<std::size_t>(sm120::bf16_value_place(grouped, channel, grouped_)) / 2;
    return static_cast<std::size_t>(dests_[static_cast<std::size_t>(grouped)]) * channels() + channel;
  }

  void draw_tokens(int rows) {
    if (!wide_) {
      x_ = random_matrix(rows, test_.k, random_);
      return;
    }
    std::normal_distribution<float> normal;
    x_bf16_.resize(static_cast<std::size_t>(rows) * test_.k);
    for (auto& value : x_bf16_) {
      value = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(normal(random_)) >> 16U);
    }
  }

  /// As in gemm_case.cpp, with fp16 MMAs of k16 whose truncation is that of the wgmmas there.
  [[nodiscard]] double accumulation() const { return 0x1p-23 * (2.5 + std::sqrt(test_.k) / 16.0); }

  [[nodiscard]] Sum dot(const Matrix& m, int n, int grouped) const {
    Sum sum;
    const double x_scale = wide_ ? 1.0 : static_cast<double>(x_scales_[grouped]);
    const double scale = static_cast<double>(m.view.global_scale) * x_scale;
    for (int k = 0; k < test_.k; ++k) {
      const double x = wide_ ? bf16(x_bf16_[static_cast<std::size_t>(grouped) * test_.k + k]) : element(x_, grouped, k);
      const double term = element(m, n, k) * x * scale;
      sum.value += term;
      sum.magnitude += std::abs(term);
    }
    return sum;
  }

  /// x in tile order; rows between experts and K past its end are zeros.
  [[nodiscard]] std::vector<std::uint8_t> nvfp4_tokens() const {
    std::vector<std::uint8_t> tiles(static_cast<std::size_t>(sm120::token_bytes(grouped_, test_.k)), 0);
    for (const Place& place : places_) {
      const std::size_t row = static_cast<std::size_t>(place.grouped);
      for (int b = 0; b < test_.k / kBlock; ++b) {
        const auto at = sm120::token_place(place.grouped, b, grouped_);
        const std::uint8_t* codes = x_.codes.data() + row * test_.k / 2 + static_cast<std::size_t>(b) * 8;
        std::memcpy(tiles.data() + at.codes_low, codes, 4);
        std::memcpy(tiles.data() + at.codes_high, codes + 4, 4);
        tiles[static_cast<std::size_t>(at.scale)] = x_.scales[row * test_.k / kBlock + b] & 0x7FU;
      }
    }
    return tiles;
  }

  /// The same in bf16, but for rows between experts, which may hold anything: NaN here.
  [[nodiscard]] std::vector<std::uint8_t> bf16_tokens() const {
    std::vector<std::uint8_t> tiles(static_cast<std::size_t>(sm120::bf16_token_bytes(grouped_, test_.k)), 0xFF);
    const auto padded = static_cast<int>(sm120::slabs_of(test_.k)) * sm120::kSlabK;
    for (const Place& place : places_) {
      for (int k = 0; k < padded; ++k) {
        const std::size_t from = static_cast<std::size_t>(place.grouped) * test_.k + k;
        const std::uint16_t value = k < test_.k ? x_bf16_[from] : std::uint16_t{0};
        std::memcpy(tiles.data() + sm120::bf16_value_place(place.grouped, k, grouped_), &value, sizeof(value));
      }
    }
    return tiles;
  }

  void check_block(int row, int b, Sm120Outcome& outcome) const {
    std::array<float, kBlock> values{};
    double slack = 0.0;  // of the values, beyond their rounding to bf16
    for (int i = 0; i < kBlock; ++i) {
      const Sum sum = expected(row, b * kBlock + i);
      values[static_cast<std::size_t>(i)] = to_float(cpu::nearest_bf16(sum.value));
      slack = std::max(slack, std::abs(sum.value) / 128.0 + 2.0 * accumulation() * sum.magnitude);
    }
    const Nvfp4Block wanted = quantize_block(values, kQuantMultiplier);
    const auto at = sm120::token_place(places_[row].grouped, b, grouped_);
    Nvfp4Block got;
    std::memcpy(got.codes.data(), outcome.y.data() + at.codes_low, 4);
    std::memcpy(got.codes.data() + 4, outcome.y.data() + at.codes_high, 4);
    got.scale = outcome.y[static_cast<std::size_t>(at.scale)];
    ++outcome.blocks;
    if (got.scale == wanted.scale && got.codes == wanted.codes) return;
    ++outcome.other_blocks;
    // The widest code is 2 scales wide: a value is at most one scale from what stands for it, and the largest, which
    // the scale is rounded for, at most 6 / 16 of a scale more.
    const double scale = static_cast<double>(decode_ue4m3(got.scale)) / static_cast<double>(kQuantMultiplier);
    for (int i = 0; i < kBlock; ++i) {
      const unsigned code = got.codes[static_cast<std::size_t>(i) / 2] >> (4U * (i % 2)) & 15U;
      const unsigned wanted_code = wanted.codes[static_cast<std::size_t>(i) / 2] >> (4U * (i % 2)) & 15U;
      const double wanted_scale =
          static_cast<double>(decode_ue4m3(wanted.scale)) / static_cast<double>(kQuantMultiplier);
      // Where the scale saturates a value can be far from its code: then it has to be the reference's.
      const double error =
          std::min(std::abs(e2m1(code) * scale - static_cast<double>(values[static_cast<std::size_t>(i)])),
                   std::abs(e2m1(code) * scale - e2m1(wanted_code) * wanted_scale));
      if (error <= 1.4 * scale + slack) continue;
      ++outcome.wrong_blocks;
      return;
    }
  }

  /// Values of bf16 output in tile order that belong to no row or no channel and are not zero.
  [[nodiscard]] std::size_t dirty_values(const std::uint16_t* y) const {
    std::vector<bool> used(static_cast<std::size_t>(grouped_), false);
    for (const Place& place : places_) used[place.grouped] = true;
    const auto padded = static_cast<int>(sm120::slabs_of(channels())) * sm120::kSlabK;
    std::size_t dirty = 0;
    for (int row = 0; row < grouped_; ++row) {
      for (int channel = used[row] ? channels() : 0; channel < padded; ++channel) {
        dirty += y[value_of(row, channel)] != 0 ? 1 : 0;
      }
    }
    return dirty;
  }

  [[nodiscard]] std::size_t dirty_padding(const std::vector<std::uint8_t>& y) const {
    std::vector<bool> used(static_cast<std::size_t>(grouped_), false);
    for (const Place& place : places_) used[place.grouped] = true;
    const auto blocks = static_cast<int>(sm120::slabs_of(channels()) * sm120::kSlabK / kBlock);
    std::size_t dirty = 0;
    for (int row = 0; row < grouped_; ++row) {
      for (int b = 0; b < blocks; ++b) {
        if (used[row] && b < channels() / kBlock) continue;
        const auto at = sm120::token_place(row, b, grouped_);
        const bool clean =
            std::all_of(y.begin() + at.codes_low, y.begin() + at.codes_low + 4, [](auto v) { return v == 0; }) &&
            std::all_of(y.begin() + at.codes_high, y.begin() + at.codes_high + 4, [](auto v) { return v == 0; }) &&
            y[static_cast<std::size_t>(at.scale)] == 0;
        dirty += clean ? 0 : 1;
      }
    }
    return dirty;
  }

  Epilogue epilogue_;
  bool wide_;  ///< tokens in bf16
  Sm120Case test_;
  std::mt19937 random_;
  std::vector<Matrix> lower_;
  std::vector<Matrix> upper_;
  Matrix x_;
  std::vector<std::uint16_t> x_bf16_;  ///< [grouped rows][K]
  std::int64_t stride_ = 0;
  int grouped_ = 0;
  std::vector<RowRange> ranges_;
  std::vector<Place> places_;
  std::vector<std::int32_t> dests_;
  std::vector<float> weights_;
  std::vector<float> x_scales_;
  std::vector<DeviceMemory> device_;
};

}  // namespace

Sm120Outcome run_case(const sm120::BuiltGemm& gemm, const Schedule& schedule, const Sm120Case& test, int repeats) {
  const int blocks = test.blocks > 0 ? test.blocks : current_gpu().value().sm_count;
  const Problem problem(schedule, test);
  const DeviceMemory y(static_cast<std::int64_t>(problem.y_bytes()));
  const DeviceMemory partials(partial_bytes(schedule, blocks));
  const DeviceMemory flags(flag_bytes(schedule, blocks));
  flags.fill(0);
  sm120::GemmParams params = problem.params();
  params.y = y.as<void>();
  params.partials = partials.as<float>();
  params.flags = flags.as<unsigned>();
  require(gemm.prepare());
  Sm120Outcome outcome;
  for (int i = 0; i < repeats; ++i) {
    y.fill(0xFF);
    const Status status = sm120::launch_gemm(gemm, schedule, params, problem.rows(), blocks, false, nullptr);
    if (!status) throw std::runtime_error(status.error().message());
    require(cudaDeviceSynchronize());
    const auto bytes = y.read<std::uint8_t>(problem.y_bytes());
    if (i == 0) outcome.y = bytes;
    if (bytes != outcome.y) outcome.worst = std::numeric_limits<double>::infinity();
  }
  const auto left = flags.read<unsigned>(static_cast<std::size_t>(flag_bytes(schedule, blocks) / 4));
  outcome.flags_clear = std::all_of(left.begin(), left.end(), [](unsigned flag) { return flag == 0; });
  if (stores_nvfp4(schedule.epilogue)) {
    problem.check_blocks(outcome);
  } else {
    problem.check_rows(outcome);
  }
  return outcome;
}

}  // namespace tilewright::cuda
