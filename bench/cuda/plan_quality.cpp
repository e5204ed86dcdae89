#include "plan_quality.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "cuda/moe/layer_schedules.hpp"

namespace tilewright::cuda {
namespace {

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

}  // namespace

Candidate planned(const GpuInfo& gpu, const BenchModel& model, bool first, int tokens) {
  const LayerShape shape{model.experts, model.experts, model.top_k, model.hidden, model.intermediate, true};
  const auto plans = plan_layer(gpu, shape, tokens);
  if (!plans) throw std::runtime_error(plans.error().message());
  return first ? plans->gemm1 : plans->gemm2;
}

double Choice::time_error() const { return std::abs(predicted_us / chosen_us - 1.0); }

Quality quality_of(const std::vector<Choice>& choices) {
  Quality quality;
  if (choices.empty()) return quality;
  std::vector<double> regrets;
  std::vector<double> errors;
  double logs = 0.0;
  double fastest = 0.0;
  for (const Choice& choice : choices) {
    regrets.push_back(choice.regret());
    errors.push_back(choice.time_error());
    logs += std::log(choice.regret());
    fastest += choice.chosen_us <= choice.fastest_us ? 1.0 : 0.0;
    quality.time_mape += errors.back();
  }
  const auto count = static_cast<double>(choices.size());
  quality.problems = static_cast<int>(choices.size());
  quality.regret_geomean = std::exp(logs / count);
  quality.regret_p95 = quantile(regrets, 0.95);
  quality.regret_worst = quantile(regrets, 1.0);
  quality.top1 = fastest / count;
  quality.time_mape /= count;
  quality.time_p90 = quantile(errors, 0.9);
  return quality;
}

}  // namespace tilewright::cuda
