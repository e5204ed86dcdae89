#include "cuda/gemm_case.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "cuda/device.hpp"
#include "cuda/device_memory.hpp"
#include "cuda/nvfp4_matrix.hpp"
#include "cuda/packed_matrix.hpp"
#include "cuda/sm90/weight_order.hpp"

namespace tilewright::cuda {
namespace {

constexpr std::uint16_t kPoison = 0xFFFF;  // a NaN
constexpr int kTokens = 50;

/// A dot product with the sum of its terms' magnitudes.
struct Sum {
  double value = 0.0;
  double magnitude = 0.0;
};

Sum dot(const Matrix& m, int n, const std::uint16_t* x) {
  const auto k_total = static_cast<int>(m.view.cols);
  Sum sum;
  for (int k = 0; k < k_total; ++k) {
    const unsigned byte = m.codes[static_cast<std::size_t>(n) * k_total / 2 + k / 2];
    const double weight = e2m1(k % 2 != 0 ? byte >> 4U : byte & 15U) *
                          ue4m3(m.scales[static_cast<std::size_t>(n) * k_total / 16 + k / 16] & 0x7FU);
    const double term = weight * bf16(x[k]) * static_cast<double>(m.view.global_scale);
    sum.value += term;
    sum.magnitude += std::abs(term);
  }
  return sum;
}

class Problem {
 public:
  Problem(const Schedule& schedule, const GemmCase& test)
      : schedule_(schedule), epilogue_(schedule.epilogue), test_(test), random_(test.seed) {
    const bool joined = gated(epilogue_);
    std::vector<float> row_scales;
    std::vector<std::uint8_t> packed;
    for (std::size_t e = 0; e < test.counts.size(); ++e) {
      lower_.push_back(random_matrix(joined ? test.n / 2 : test.n, test.k, random_));
      upper_.push_back(joined ? random_matrix(test.n / 2, test.k, random_) : Matrix{});
      const Nvfp4Matrix& lower = lower_.back().view;
      const Nvfp4Matrix& upper = joined ? upper_.back().view : lower;
      stride_ = packed_bytes(lower, upper);
      packed.resize(packed.size() + static_cast<std::size_t>(stride_));
      if (!pack_matrix(lower, upper, packed.data() + packed.size() - stride_))
        throw std::runtime_error("packing failed");
      row_scales.push_back(lower.global_scale * sm90::kWeightUnbias);
      row_scales.push_back(upper.global_scale * sm90::kWeightUnbias);
    }
    for (const int count : test.counts) {
      ranges_.push_back({static_cast<std::int32_t>(grouped_), count});
      rows_ += count;
      for (int r = 0; r < count; ++r) places_.push_back({static_cast<int>(ranges_.size()) - 1, grouped_ + r});
      grouped_ = (grouped_ + count + 7) / 8 * 8;
    }
    for (int r = 0; r < grouped_; ++r) sources_.push_back(static_cast<std::int32_t>(random_() % kTokens));
    // Rows of y in any order; the grouped rows between experts have none.
    std::vector<std::int32_t> shuffled(static_cast<std::size_t>(rows_));
    std::iota(shuffled.begin(), shuffled.end(), 0);
    std::shuffle(shuffled.begin(), shuffled.end(), random_);
    dests_.assign(static_cast<std::size_t>(grouped_), -1);
    for (int r = 0; r < rows_; ++r) dests_[places_[r].grouped] = shuffled[r];
    for (int r = 0; r < grouped_; ++r) weights_.push_back(static_cast<float>(random_() % 1000) / 1000.0F);
    std::normal_distribution<float> normal;
    for (int i = 0; i < kTokens * test.k; ++i) {
      x_.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(normal(random_)) >> 16U));
    }
    device_.push_back(DeviceMemory(packed));
    device_.push_back(DeviceMemory(row_scales));
    device_.push_back(DeviceMemory(gathers() ? x_ : arranged()));
    device_.push_back(DeviceMemory(sources_));
    device_.push_back(DeviceMemory(dests_));
    device_.push_back(DeviceMemory(weights_));
    device_.push_back(DeviceMemory(ranges_));
  }

  [[nodiscard]] int channels() const { return gated(epilogue_) ? test_.n / 2 : test_.n; }
  [[nodiscard]] int rows() const { return rows_; }
  [[nodiscard]] bool gathers() const { return schedule_.token_load == TokenLoad::gather; }
  [[nodiscard]] bool leaves_tile_order() const { return gated(epilogue_) || epilogue_ == Epilogue::act_bf16; }
  /// Values of y, whatever its order.
  [[nodiscard]] std::size_t values() const {
    return leaves_tile_order() ? static_cast<std::size_t>(sm90::tile_order_bytes(grouped_, channels())) / 2
                               : static_cast<std::size_t>(rows_) * static_cast<std::size_t>(channels());
  }

  [[nodiscard]] sm90::GemmParams params() const {
    sm90::GemmParams p;
    p.weights = device_[0].as<std::uint8_t>();
    p.expert_stride = stride_;
    p.row_scales = device_[1].as<float>();
    p.x = device_[2].as<void>();
    p.x_stride = test_.k;
    p.row_source = device_[3].as<std::int32_t>();
    p.row_dest = device_[4].as<std::int32_t>();
    p.row_weights = device_[5].as<float>();
    p.row_ranges = device_[6].as<RowRange>();
    p.group_rows = grouped_;
    p.y_stride = channels();
    p.experts = static_cast<int>(test_.counts.size());
    p.weight_rows = test_.n;
    p.k = test_.k;
    p.gated = gated_formula({ActivationKind::silu_gated, 0.0F});
    return p;
  }

  /// The error of a row's channel in units of what rounding explains.
  [[nodiscard]] double error_of(const std::vector<std::uint16_t>& y, int row, int channel) const {
    const Place& place = places_[row];
    const auto expert = static_cast<std::size_t>(place.expert);
    const std::uint16_t* x = x_.data() + static_cast<std::size_t>(sources_[place.grouped]) * test_.k;
    const Sum lower = dot(lower_[expert], channel, x);
    double expected = lower.value;
    double magnitude = lower.magnitude;
    if (gated(epilogue_)) {
      const Sum upper = dot(upper_[expert], channel, x);
      const double silu = lower.value / (1.0 + std::exp(-lower.value));
      expected = silu * upper.value;
      magnitude = lower.magnitude * std::abs(upper.value) + upper.magnitude * std::abs(silu);
    } else if (epilogue_ == Epilogue::act_bf16) {
      magnitude *= 2.0 * std::abs(expected);
      expected = expected > 0.0 ? expected * expected : 0.0;
    } else if (epilogue_ == Epilogue::finalize) {
      expected *= static_cast<double>(weights_[place.grouped]);
    }
    const double got =
        bf16(y[leaves_tile_order() ? in_tile_order(place.grouped, channel)
                                   : static_cast<std::size_t>(dests_[place.grouped]) * channels() + channel]);
    const double error =
        std::abs(got - expected) /
        (std::abs(expected) * (1.0 / 256.0 + (gated(epilogue_) ? 1e-5 : 0.0)) + accumulation() * magnitude + 1e-30);
    return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
  }

 private:
  /// What fp32 accumulation may do to a sum, as a part of its terms' magnitudes: the order of a step's terms, and at
  /// each of K / 16 steps a truncation by up to 2^-23 of the sum so far, which is about magnitude / sqrt(K).
  [[nodiscard]] double accumulation() const { return 0x1p-23 * (2.5 + std::sqrt(test_.k) / 16.0); }

  /// Where a row is: its expert, and its number among the grouped rows.
  struct Place {
    int expert;
    int grouped;
  };

  [[nodiscard]] std::size_t in_tile_order(int row, int k) const {
    const int chunk = k % 64 / 8 ^ row % 8;
    return (static_cast<std::size_t>(k / 64) * grouped_ + row) * 64 + chunk * 8 + k % 8;
  }

  /// The grouped rows of x in tile order; zeros where K has ended, finite values in rows that are padding.
  [[nodiscard]] std::vector<std::uint16_t> arranged() const {
    std::vector<std::uint16_t> tiles(static_cast<std::size_t>(sm90::tile_order_bytes(grouped_, test_.k)) / 2, 0);
    for (int row = 0; row < grouped_; ++row) {
      for (int k = 0; k < test_.k; ++k)
        tiles[in_tile_order(row, k)] = x_[static_cast<std::size_t>(sources_[row]) * test_.k + k];
    }
    return tiles;
  }

  Schedule schedule_;
  Epilogue epilogue_;
  GemmCase test_;
  std::mt19937 random_;
  std::vector<Matrix> lower_;
  std::vector<Matrix> upper_;
  std::int64_t stride_ = 0;
  int rows_ = 0;
  int grouped_ = 0;  ///< padding included
  std::vector<RowRange> ranges_;
  std::vector<Place> places_;
  std::vector<std::int32_t> sources_;
  std::vector<std::int32_t> dests_;
  std::vector<float> weights_;
  std::vector<std::uint16_t> x_;
  std::vector<DeviceMemory> device_;
};

}  // namespace

GemmOutcome run_case(const sm90::BuiltGemm& gemm, const GemmCase& test, int repeats, int samples) {
  const int blocks =
      test.blocks > 0 ? test.blocks : sm90::launch_blocks(gemm.schedule, current_sm90().value().sm_count);
  const Problem problem(gemm.schedule, test);
  const std::size_t values = problem.values();
  const DeviceMemory y(static_cast<std::int64_t>(values * 2));
  const DeviceMemory partials(partial_bytes(gemm.schedule, blocks));
  const DeviceMemory flags(flag_bytes(gemm.schedule, blocks));
  flags.fill(0);
  sm90::GemmParams params = problem.params();
  params.y = y.as<void>();
  params.partials = partials.as<float>();
  params.flags = flags.as<unsigned>();
  require(gemm.prepare());

  GemmOutcome outcome;
  for (int i = 0; i < repeats; ++i) {
    y.fill(kPoison & 0xFF);
    const Status status = sm90::launch_gemm(gemm, params, problem.rows(), blocks, false, nullptr);
    if (!status) throw std::runtime_error(status.error().message());
    require(cudaDeviceSynchronize());
    auto bits = y.read<std::uint16_t>(values);
    if (i == 0) outcome.y = std::move(bits);
    if (i > 0 && bits != outcome.y) outcome.worst = std::numeric_limits<double>::infinity();
  }
  outcome.unwritten = static_cast<std::size_t>(std::count(outcome.y.begin(), outcome.y.end(), kPoison));
  const auto left = flags.read<unsigned>(static_cast<std::size_t>(flag_bytes(gemm.schedule, blocks) / 4));
  outcome.flags_clear = std::all_of(left.begin(), left.end(), [](unsigned flag) { return flag == 0; });

  std::mt19937 random(test.seed + 1);
  for (int i = 0; i < samples && problem.rows() > 0; ++i) {
    const int row = i < problem.rows() ? i : static_cast<int>(random() % static_cast<unsigned>(problem.rows()));
    const int channel = static_cast<int>(random() % static_cast<unsigned>(problem.channels()));
    const double error = problem.error_of(outcome.y, row, channel);
    if (error <= outcome.worst) continue;
    outcome.worst = error;
    outcome.where = "row " + std::to_string(row) + " channel " + std::to_string(channel);
  }
  return outcome;
}

}  // namespace tilewright::cuda
