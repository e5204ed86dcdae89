// Rows of each expert: given, or expected from how tokens choose experts.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

#include "schedule/enum_names.hpp"
#include "schedule/power_law.hpp"
#include "schedule/size_limits.hpp"
#include "tilewright/problem.hpp"

namespace tilewright {
namespace {

using schedule::kMostExperts;
using schedule::kMostRows;

constexpr schedule::EnumNames<3> kDistributionNames = {"uniform_random", "balanced", "power_law"};

// tokens * top_k * local / experts, rounded half up; the arguments are bounded by kMostRows.
std::int64_t expected_total(std::int64_t tokens, int top_k, int experts, int local_experts) {
  const double exact = static_cast<double>(tokens) * top_k * local_experts / experts;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(exact + 0.5));
}

// The counts i = 0 .. local-1 at which the distribution function of Binomial(n, p) passes (i + 1/2) / local. The
// probabilities come from their ratios, outward from the mode, so that nothing underflows.
std::vector<std::int64_t> binomial_quantiles(std::int64_t n, double p, int local) {
  constexpr double kNegligible = 1e-18;
  if (p >= 1.0) return std::vector<std::int64_t>(static_cast<std::size_t>(local), n);
  const double odds = p / (1.0 - p);
  const auto mode = std::min(n, static_cast<std::int64_t>(static_cast<double>(n + 1) * p));
  std::vector<double> below;  // weights of mode - 1, mode - 2, ... relative to the mode's
  double weight = 1.0;
  for (std::int64_t x = mode; x > 0 && weight > kNegligible; --x) {
    weight *= static_cast<double>(x) / (static_cast<double>(n - x + 1) * odds);
    below.push_back(weight);
  }
  std::vector<double> weights(below.rbegin(), below.rend());
  const std::int64_t first = mode - static_cast<std::int64_t>(below.size());
  weights.push_back(1.0);
  weight = 1.0;
  for (std::int64_t x = mode; x < n && weight > kNegligible; ++x) {
    weight *= static_cast<double>(n - x) * odds / static_cast<double>(x + 1);
    weights.push_back(weight);
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::int64_t> quantiles;
  std::size_t at = 0;
  double reached = weights[0];
  for (int i = 0; i < local; ++i) {
    while (at + 1 < weights.size() && reached < (i + 0.5) / local * sum) reached += weights[++at];
    quantiles.push_back(first + static_cast<std::int64_t>(at));
  }
  return quantiles;
}

// Moves the sum of `rows` (descending) to `total` a row at a time from the largest expert on, over and over. An expert
// loses its last row only when no other has one to give, so that the number of active experts stays what it was.
void adjust_total(std::vector<std::int64_t>& rows, std::int64_t total) {
  std::int64_t missing = total - std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
  for (std::size_t i = 0; missing > 0; i = (i + 1) % rows.size(), --missing) ++rows[i];
  for (std::int64_t keep = 1; missing < 0 && keep >= 0; --keep) {
    bool moved = true;
    while (missing < 0 && moved) {
      moved = false;
      for (auto row = rows.begin(); row != rows.end() && missing < 0; ++row) {
        if (*row <= keep) continue;
        --*row;
        ++missing;
        moved = true;
      }
    }
  }
}

std::vector<std::int64_t> uniform_rows(std::int64_t tokens, int top_k, int experts, int local) {
  auto rows = binomial_quantiles(tokens, static_cast<double>(top_k) / experts, local);
  std::reverse(rows.begin(), rows.end());
  adjust_total(rows, expected_total(tokens, top_k, experts, local));
  return rows;
}

std::vector<std::int64_t> balanced_rows(std::int64_t total, int local) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(local), total / local);
  for (std::int64_t i = 0; i < total % local; ++i) ++rows[static_cast<std::size_t>(i)];
  return rows;
}

// Rows of the rank that is dealt the most popular expert. With all chances laid end to end, tokens start at (t + 1/2) /
// T and take what lies at whole steps from there: an expert gets the starts that fall into its stretch, so that
// rounding neither loses a row nor gives a token an expert twice.
std::vector<std::int64_t> power_law_rows(std::int64_t tokens, int top_k, int experts, int local, double alpha) {
  const std::vector<double> chances = schedule::power_law_chances(top_k, experts, alpha);
  const int ranks = std::max(1, experts / local);
  std::vector<std::int64_t> rows;
  double reached = 0;
  std::int64_t before = 0;
  for (int expert = 0; expert < experts && static_cast<int>(rows.size()) < local; ++expert) {
    reached += chances[static_cast<std::size_t>(expert)];
    const auto up_to = static_cast<std::int64_t>(static_cast<double>(tokens) * reached + 0.5);
    if (expert % ranks == 0) rows.push_back(std::min(up_to - before, tokens));
    before = up_to;
  }
  rows[0] = std::max<std::int64_t>(rows[0], 1);
  return rows;
}

}  // namespace

std::vector<double> schedule::power_law_chances(int top_k, int experts, double alpha) {
  std::vector<double> chances(static_cast<std::size_t>(experts));
  for (int i = 0; i < experts; ++i) chances[static_cast<std::size_t>(i)] = std::pow(i + 1.0, -alpha);
  int capped = 0;  // the first `capped` experts are picked by every token
  while (capped < experts) {
    const double rest = std::accumulate(chances.begin() + capped, chances.end(), 0.0);
    const double scale = (top_k - capped) / rest;
    if (chances[static_cast<std::size_t>(capped)] * scale <= 1.0) {
      std::for_each(chances.begin() + capped, chances.end(), [&](double& c) { c *= scale; });
      break;
    }
    chances[static_cast<std::size_t>(capped++)] = 1.0;
  }
  return chances;
}

const char* to_string(RowDistribution distribution) { return schedule::name_of(kDistributionNames, distribution); }

Result<RowDistribution> parse_distribution(const std::string& name) {
  return schedule::value_of<RowDistribution>(kDistributionNames, name, "distribution of rows");
}

std::int64_t RowsHistogram::experts() const {
  std::int64_t sum = 0;
  for (const Bin& bin : bins) sum += bin.experts;
  return sum;
}

std::int64_t RowsHistogram::active() const {
  std::int64_t sum = 0;
  for (const Bin& bin : bins) sum += bin.rows > 0 ? bin.experts : 0;
  return sum;
}

std::int64_t RowsHistogram::total() const {
  std::int64_t sum = 0;
  for (const Bin& bin : bins) sum += bin.rows * bin.experts;
  return sum;
}

std::int64_t RowsHistogram::max() const { return bins.empty() ? 0 : bins.front().rows; }

double RowsHistogram::mean_active() const {
  const std::int64_t experts_with_rows = active();
  return experts_with_rows == 0 ? 0.0 : static_cast<double>(total()) / static_cast<double>(experts_with_rows);
}

Result<RowsHistogram> rows_from_counts(const std::vector<std::int64_t>& counts) {
  if (counts.empty()) return fail(ErrorCode::invalid_argument, "no expert is given", "give the rows of at least one");
  if (static_cast<std::int64_t>(counts.size()) > kMostExperts) {
    return fail(ErrorCode::invalid_argument, fmt::format("{} experts", counts.size()), "give at most 2^20");
  }
  std::int64_t total = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] < 0) {
      return fail(ErrorCode::invalid_argument, fmt::format("expert {} has {} rows", i, counts[i]),
                  "rows cannot be negative");
    }
    if (counts[i] > kMostRows - total) {
      return fail(ErrorCode::invalid_argument, fmt::format("more than 2^36 rows up to expert {}", i),
                  "plan a smaller batch");
    }
    total += counts[i];
  }
  std::vector<std::int64_t> sorted = counts;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  RowsHistogram histogram;
  for (const std::int64_t rows : sorted) {
    if (histogram.bins.empty() || histogram.bins.back().rows != rows) histogram.bins.push_back({rows, 0});
    ++histogram.bins.back().experts;
  }
  return histogram;
}

Result<RowsHistogram> expected_rows(std::int64_t tokens, int top_k, int experts, int local_experts,
                                    const RowModel& model) {
  if (tokens < 1 || tokens > kMostRows / std::max(top_k, 1)) {
    return fail(ErrorCode::invalid_argument, fmt::format("{} tokens with top-{}", tokens, top_k),
                "give 1 to 2^36 rows");
  }
  if (experts < 1 || experts > kMostExperts || top_k < 1 || top_k > experts) {
    return fail(ErrorCode::invalid_argument, fmt::format("top-{} of {} experts", top_k, experts),
                "give at most 2^20 experts, and a top-k of 1 to their number");
  }
  if (local_experts < 1 || local_experts > experts) {
    return fail(ErrorCode::invalid_argument, fmt::format("{} of {} experts are local", local_experts, experts),
                "a rank holds 1 to all of them");
  }
  switch (model.distribution) {
    case RowDistribution::balanced:
      return rows_from_counts(balanced_rows(expected_total(tokens, top_k, experts, local_experts), local_experts));
    case RowDistribution::power_law:
      if (!(model.alpha >= 0.0 && model.alpha <= 16.0)) {
        return fail(ErrorCode::invalid_argument, fmt::format("power-law alpha is {}", model.alpha), "give 0 to 16");
      }
      return rows_from_counts(power_law_rows(tokens, top_k, experts, local_experts, model.alpha));
    case RowDistribution::uniform_random: break;
  }
  return rows_from_counts(uniform_rows(tokens, top_k, experts, local_experts));
}

}  // namespace tilewright
