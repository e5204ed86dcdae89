#include "tune/regret.hpp"

#include <algorithm>
#include <cmath>

#include "tune/statistics.hpp"

namespace tilewright::tune {
namespace {

bool timed(const Trial& trial) { return trial.samples > 0 && trial.error.empty(); }

double error_of(const Trial& trial) { return std::abs(trial.predicted_us / trial.us - 1.0); }

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0.0 : sum / static_cast<double>(values.size());
}

/// Share of the rows whose fastest schedule is among the model's first `count`.
double share_within(std::span<const RegretRow* const> rows, std::size_t count) {
  const auto found =
      std::count_if(rows.begin(), rows.end(), [&](const RegretRow* row) { return row->fastest() < count; });
  return static_cast<double>(found) / static_cast<double>(rows.size());
}

std::vector<double> regrets_of(std::span<const RegretRow* const> rows, std::size_t count) {
  std::vector<double> regrets;
  for (const RegretRow* row : rows) regrets.push_back(row->regret(count));
  return regrets;
}

}  // namespace

bool RegretRow::complete() const {
  return !trials.empty() && timed(trials.front()) &&
         std::all_of(trials.begin(), trials.end(), [](const Trial& t) { return timed(t) || !t.error.empty(); });
}

std::size_t RegretRow::fastest() const {
  std::size_t best = 0;
  for (std::size_t i = 1; i < trials.size(); ++i) {
    if (timed(trials[i]) && trials[i].us < trials[best].us) best = i;
  }
  return best;
}

double RegretRow::regret(std::size_t count) const {
  double us = trials.front().us;
  for (std::size_t i = 1; i < std::min(count, trials.size()); ++i) {
    if (timed(trials[i])) us = std::min(us, trials[i].us);
  }
  return us / trials[fastest()].us;
}

double RegretRow::time_error() const { return choice().predicted_us / choice().us - 1.0; }

RegretSummary summarize(std::span<const RegretRow* const> rows) {
  RegretSummary summary;
  if (rows.empty()) return summary;
  const std::vector<double> regrets = regrets_of(rows, 1);
  std::vector<double> errors;
  std::vector<double> ratios;
  std::vector<double> all_errors;
  for (const RegretRow* row : rows) {
    errors.push_back(std::abs(row->time_error()));
    ratios.push_back(1.0 + row->time_error());
    for (const Trial& trial : row->trials) {
      if (timed(trial)) all_errors.push_back(error_of(trial));
    }
  }
  summary.shapes = static_cast<int>(rows.size());
  summary.regret_geomean = geometric_mean(regrets);
  summary.regret_p95 = quantile(regrets, 0.95);
  summary.regret_worst = quantile(regrets, 1.0);
  summary.top1 = share_within(rows, 1);
  summary.top3 = share_within(rows, 3);
  summary.top8 = share_within(rows, 8);
  summary.regret_top3 = geometric_mean(regrets_of(rows, 3));
  summary.regret_top8 = geometric_mean(regrets_of(rows, 8));
  summary.time_mape = mean(errors);
  summary.time_p90 = quantile(errors, 0.9);
  summary.time_bias = geometric_mean(ratios) - 1.0;
  summary.schedules = static_cast<int>(all_errors.size());
  summary.all_mape = mean(all_errors);
  return summary;
}

}  // namespace tilewright::tune
