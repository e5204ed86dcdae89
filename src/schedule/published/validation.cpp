// How far predictions are from published times.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "schedule/published/halves.hpp"
#include "tilewright/published.hpp"

namespace tilewright {
namespace {

// A row that takes part, with what a prediction needs.
struct Case {
  const PublishedLayer* layer = nullptr;
  const std::vector<RowsHistogram>* draws = nullptr;
  bool held_out = false;
};

// The layer on one rank, without its rows.
PeerLayer on_one_rank(const PublishedLayer& layer) {
  return {layer.hidden, layer.intermediate / layer.tp, is_gated(layer), layer.tokens, layer.top_k, layer.experts, {}};
}

double predicted_us(const Device& device, const PeerStack& stack, const PublishedLayer& layer,
                    const std::vector<RowsHistogram>& draws) {
  PeerLayer peer = on_one_rank(layer);
  double sum = 0.0;
  for (const RowsHistogram& rows : draws) {
    peer.rows = rows;
    sum += predict_peer(device, stack, peer).us;
  }
  return sum / static_cast<double>(draws.size());
}

// Weights that were read faster than memory can: less what the L2 may have kept from the replay before.
bool is_impossible(const Device& device, const PublishedLayer& layer, const std::vector<RowsHistogram>& draws) {
  double active = 0.0;
  for (const RowsHistogram& rows : draws) active += static_cast<double>(rows.active());
  active /= static_cast<double>(draws.size());
  const double values = active * static_cast<double>(layer.hidden) * static_cast<double>(layer.intermediate / layer.tp);
  const double value_bytes = layer.format == PeerFormat::fp8 ? 1.0 : 9.0 / 16.0;
  const double bytes = values * (is_gated(layer) ? 3.0 : 2.0) * value_bytes - static_cast<double>(device.l2_bytes);
  return bytes > layer.us * 1e3 * device.dram_GBps;
}

// DeepSeek-V3's router picks groups of experts first, and the collector's logits do not ask for such groups: the
// experts that ran are others, and fewer, than the round robin names. From 1,024 tokens on all of them run either way.
bool is_misrouted(const PublishedLayer& layer) {
  return layer.hidden == 7168 && layer.intermediate == 2048 && layer.top_k == 8 && layer.experts == 256 &&
         layer.tokens < 1024;
}

PredictionError error_over(std::string group, std::vector<double> ratios) {
  PredictionError error;
  error.group = std::move(group);
  error.rows = static_cast<std::int64_t>(ratios.size());
  if (ratios.empty()) return error;
  const auto count = static_cast<double>(ratios.size());
  error.bias = std::accumulate(ratios.begin(), ratios.end(), 0.0) / count - 1.0;
  for (double& ratio : ratios) ratio = std::abs(ratio - 1.0);
  std::sort(ratios.begin(), ratios.end());
  error.mean = std::accumulate(ratios.begin(), ratios.end(), 0.0) / count;
  error.p90 = ratios[static_cast<std::size_t>(0.9 * (count - 1.0) + 0.5)];
  error.worst = ratios.back();
  return error;
}

const char* distribution_group(const PublishedLayer& layer) { return layer.alpha > 0.0 ? "power law" : "balanced"; }

const char* token_group(const PublishedLayer& layer) {
  if (layer.tokens < 16) return "1 to 15 tokens";
  if (layer.tokens < 256) return "16 to 255 tokens";
  return layer.tokens < 2048 ? "256 to 2047 tokens" : "2048 tokens and more";
}

const char* parallel_group(const PublishedLayer& layer) {
  if (layer.tp == 1) return layer.ep == 1 ? "one rank" : "EP";
  return layer.ep == 1 ? "TP" : "TP and EP";
}

// One stack's rows.
class StackCases {
 public:
  StackCases(const Device& device, const PeerStack& stack, std::vector<Case> cases)
      : device_(device), stack_(stack), cases_(std::move(cases)) {}

  [[nodiscard]] bool empty() const { return cases_.empty(); }

  template <typename Take>
  [[nodiscard]] std::vector<double> ratios(const PeerStack& stack, const Take& take) const {
    std::vector<double> found;
    for (const Case& one : cases_) {
      if (take(one)) found.push_back(predicted_us(device_, stack, *one.layer, *one.draws) / one.layer->us);
    }
    return found;
  }

  // The efficiency with the least mean |log(predicted / measured)| over the fitting half, by golden section.
  [[nodiscard]] double fitted_efficiency() const {
    constexpr double kGolden = 0.6180339887498949;
    constexpr int kSteps = 20;  // from a factor of 4 to one part in 10^4
    const auto loss = [&](double log_efficiency) {
      PeerStack stack = stack_;
      stack.efficiency = std::exp(log_efficiency);
      double sum = 0.0;
      for (const double ratio : ratios(stack, [](const Case& one) { return !one.held_out; })) {
        sum += std::abs(std::log(ratio));
      }
      return sum;
    };
    double low = std::log(0.5);
    double high = std::log(2.0);
    double left = high - kGolden * (high - low);
    double right = low + kGolden * (high - low);
    double left_loss = loss(left);
    double right_loss = loss(right);
    for (int i = 0; i < kSteps; ++i) {
      if (left_loss < right_loss) {
        high = std::exchange(right, left);
        right_loss = left_loss;
        left = high - kGolden * (high - low);
        left_loss = loss(left);
      } else {
        low = std::exchange(left, right);
        left_loss = right_loss;
        right = low + kGolden * (high - low);
        right_loss = loss(right);
      }
    }
    return std::exp((low + high) / 2.0);
  }

  [[nodiscard]] std::vector<PredictionError> groups(const char* (*group_of)(const PublishedLayer&)) const {
    std::map<std::string, std::vector<double>> found;
    for (const Case& one : cases_) {
      if (!one.held_out) continue;
      found[group_of(*one.layer)].push_back(predicted_us(device_, stack_, *one.layer, *one.draws) / one.layer->us);
    }
    std::vector<PredictionError> errors;
    for (auto& [group, ratios] : found) errors.push_back(error_over(group, std::move(ratios)));
    return errors;
  }

  [[nodiscard]] StackValidation validate(std::vector<double>& all_held_out) const {
    StackValidation result;
    result.stack = &stack_;
    result.fitted_efficiency = fitted_efficiency();
    result.fitting = error_over("fitting half", ratios(stack_, [](const Case& one) { return !one.held_out; }));
    std::vector<double> held_out = ratios(stack_, [](const Case& one) { return one.held_out; });
    all_held_out.insert(all_held_out.end(), held_out.begin(), held_out.end());
    result.held_out = error_over("held-out half", std::move(held_out));
    result.by_distribution = groups(distribution_group);
    result.by_tokens = groups(token_group);
    result.by_parallelism = groups(parallel_group);
    return result;
  }

 private:
  const Device& device_;
  const PeerStack& stack_;
  std::vector<Case> cases_;
};

// The rows of a rank depend on the routing alone; a file repeats each for many models and slices.
class RowsCache {
 public:
  const std::vector<RowsHistogram>& rows(const PublishedLayer& layer) {
    const auto key = std::tuple(layer.tokens, layer.top_k, layer.experts, layer.ep, layer.alpha);
    auto found = cache_.find(key);
    if (found == cache_.end()) found = cache_.emplace(key, published_rows(layer)).first;
    return found->second;
  }

 private:
  std::map<std::tuple<std::int64_t, int, int, int, double>, std::vector<RowsHistogram>> cache_;
};

// Why a row takes no part; empty where it does.
std::string reason_to_leave_out(const Device& device, const PublishedLayer& layer, const PeerStack* stack,
                                const std::vector<RowsHistogram>& draws) {
  if (stack == nullptr) {
    return fmt::format("{} {} {} in {} is not described", layer.framework, layer.version, layer.kernel,
                       to_string(layer.format));
  }
  if (is_misrouted(layer)) return "grouped top-k of 256 experts does not follow the collector's routing";
  if (is_impossible(device, layer, draws)) return "weights faster than the DRAM's specification";
  return {};
}

}  // namespace

bool is_gated(const PublishedLayer& layer) {
  const bool nemotron3 = layer.experts == 512 && layer.top_k == 22;
  return !nemotron3 && layer.kernel.find("nongated") == std::string::npos;
}

PeerTime predict_published(const Device& device, const PeerStack& stack, const PublishedLayer& layer) {
  PeerLayer peer = on_one_rank(layer);
  const std::vector<RowsHistogram> draws = published_rows(layer);
  PeerTime mean;
  for (const RowsHistogram& rows : draws) {
    peer.rows = rows;
    const PeerTime time = predict_peer(device, stack, peer);
    const double share = 1.0 / static_cast<double>(draws.size());
    for (double PeerTime::*part :
         {&PeerTime::us, &PeerTime::fixed_us, &PeerTime::routing_us, &PeerTime::quantize_us, &PeerTime::gemm1_us,
          &PeerTime::activation_us, &PeerTime::gemm2_us, &PeerTime::combine_us}) {
      mean.*part += share * time.*part;
    }
    mean.weight_bytes += time.weight_bytes / static_cast<std::int64_t>(draws.size());
  }
  return mean;
}

Result<PublishedValidation> validate_published(const Device& device, const PublishedFile& file) {
  if (device.flop_per_clk.fp4 == 0 || device.l2_bytes == 0) {
    return fail(ErrorCode::unsupported, fmt::format("{} has no FP4 tensor cores", device.name),
                "name the device that the layers were timed on: rtx-pro-6000-server");
  }
  const schedule::Halves halves(file.layers);
  PublishedValidation result;
  result.device = device.name;
  result.rows = static_cast<std::int64_t>(file.layers.size());
  result.fitting_shapes = halves.fitting();
  result.held_out_shapes = halves.held_out();
  result.left_out = file.left_out;
  for (const LeftOut& other : file.left_out) result.rows += other.rows;

  RowsCache cache;
  std::map<const PeerStack*, std::vector<Case>> cases;
  std::map<std::string, std::int64_t> left_out;
  for (const PublishedLayer& layer : file.layers) {
    const PeerStack* stack = find_peer_stack(layer.framework, layer.version, layer.kernel, layer.format);
    const std::vector<RowsHistogram>& draws = cache.rows(layer);
    if (const std::string reason = reason_to_leave_out(device, layer, stack, draws); !reason.empty()) {
      ++left_out[reason];
    } else {
      cases[stack].push_back({&layer, &draws, halves.held_out(layer)});
    }
  }
  for (const auto& [reason, rows] : left_out) result.left_out.push_back({reason, rows});
  if (cases.empty()) {
    return fail(ErrorCode::invalid_argument, fmt::format("none of {} rows can be compared", result.rows),
                result.left_out.empty() ? "give rows" : result.left_out.front().reason);
  }
  std::vector<double> held_out;
  for (const PeerStack& stack : peer_stacks()) {
    const auto found = cases.find(&stack);
    if (found == cases.end()) continue;
    result.stacks.push_back(StackCases(device, stack, std::move(found->second)).validate(held_out));
  }
  result.held_out = error_over("held-out half", std::move(held_out));
  return result;
}

}  // namespace tilewright
