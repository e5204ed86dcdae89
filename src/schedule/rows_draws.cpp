// Rows of each expert as routings give them, and not as they are on average.
//
// Time is a step function of rows: 7 experts of 16 tiles are one wave of 132 SMs, 9 are two. So the time of a random
// routing is a mean of times, not the time of the mean. Routings are drawn with a fixed seed and put in order of the
// experts that have rows; the middle ones of equal parts stand for all, which leaves less to chance than as many draws.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "schedule/power_law.hpp"
#include "tilewright/problem.hpp"

namespace tilewright {
namespace {

constexpr int kDrawsAKept = 4;  // routings for each that is kept

// How many draws stand for all. The more rows an expert has, the less they differ.
int kept_draws(std::int64_t tokens, int top_k, int experts) {
  const std::int64_t mean = tokens * top_k / experts;
  return mean < 16 ? 8 : mean < 128 ? 4 : 2;
}

// Up to so many choices of a rank that has at least half of the experts are drawn token by token. Otherwise each
// expert's rows are drawn by themselves: of a small rank they hardly depend on each other.
constexpr std::int64_t kMostChoices = 256;
// Means from which a binomial is taken for a normal distribution.
constexpr double kManyRows = 4.0;

using Counts = std::vector<std::int64_t>;

// Numbers from a fixed seed: SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
class Random {
 public:
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
    z = (z ^ z >> 30U) * 0xBF58476D1CE4E5B9U;
    z = (z ^ z >> 27U) * 0x94D049BB133111EBU;
    return z ^ z >> 31U;
  }
  /// 0 to 1, without 1.
  double uniform() { return static_cast<double>(next() >> 11U) * 0x1p-53; }
  std::int64_t below(std::int64_t end) { return static_cast<std::int64_t>(uniform() * static_cast<double>(end)); }
  /// Mean 0, standard deviation 1: the sum of four uniform numbers.
  double normal() {
    const std::uint64_t bits = next();
    double sum = 0;
    for (unsigned i = 0; i < 64; i += 16) sum += static_cast<double>(bits >> i & 0xFFFFU);
    return (sum / 65536.0 - 2.0 + 2.0 / 65536.0) * std::sqrt(3.0);
  }

 private:
  std::uint64_t state_ = 0x7469'6C65'7772'6967U;
};

/// Draws the rows of a rank's experts.
class Router {
 public:
  Router(std::int64_t tokens, int top_k, int experts, int local, const RowModel& model, int draws)
      : tokens_(tokens), top_k_(top_k), experts_(experts), local_(local), draws_(static_cast<std::uint64_t>(draws)) {
    if (model.distribution == RowDistribution::power_law) {
      by_popularity_ = true;
      ranks_ = std::max(1, experts / local);
      const std::vector<double> all = schedule::power_law_chances(top_k, experts, model.alpha);
      reached_.resize(all.size());
      std::partial_sum(all.begin(), all.end(), reached_.begin());
      for (int i = 0; i < local; ++i)
        chances_.push_back(all[static_cast<std::size_t>(i) * static_cast<std::size_t>(ranks_)]);
    } else {
      chances_.assign(static_cast<std::size_t>(local), static_cast<double>(top_k) / experts);
      deck_.resize(static_cast<std::size_t>(experts));
      std::iota(deck_.begin(), deck_.end(), 0);
    }
    for (const double chance : chances_) {
      none_.push_back(chance < 1.0 ? std::exp(static_cast<double>(tokens) * std::log1p(-chance)) : 0.0);
      strata_.push_back(random_.next());
    }
  }

  /// Number `draw` of as many as there will be.
  Counts draw(std::uint64_t draw) {
    Counts counts(static_cast<std::size_t>(local_), 0);
    if (tokens_ * top_k_ <= kMostChoices && 2 * local_ >= experts_) {
      for (std::int64_t token = 0; token < tokens_; ++token) by_popularity_ ? choose_popular(counts) : choose(counts);
      return counts;
    }
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = binomial(i, draw);
    if (local_ == experts_) settle(counts);
    return counts;
  }

 private:
  // One of all experts after the other, none twice.
  void choose(Counts& counts) {
    for (int slot = 0; slot < top_k_; ++slot) {
      const auto pick = static_cast<std::size_t>(slot + random_.below(experts_ - slot));
      std::swap(deck_[static_cast<std::size_t>(slot)], deck_[pick]);
      const int expert = deck_[static_cast<std::size_t>(slot)];
      if (expert < local_) ++counts[static_cast<std::size_t>(expert)];
    }
  }

  // Systematic sampling: with the chances laid end to end, the experts at u, u + 1, ... u + k - 1. No chance is above
  // 1, so none is met twice.
  void choose_popular(Counts& counts) {
    const double start = random_.uniform();
    auto at = reached_.begin();
    for (int slot = 0; slot < top_k_; ++slot) {
      at = std::upper_bound(at, reached_.end() - 1, start + slot);
      const auto expert = static_cast<int>(at - reached_.begin());
      if (at + 1 != reached_.end()) ++at;
      if (expert % ranks_ == 0 && expert / ranks_ < local_) ++counts[static_cast<std::size_t>(expert / ranks_)];
    }
  }

  // Rows of an expert.
  std::int64_t binomial(std::size_t expert, std::uint64_t draw) {
    const double chance = chances_[expert];
    if (chance >= 1.0) return tokens_;
    const auto n = static_cast<double>(tokens_);
    if (n * chance >= kManyRows) {
      const double rows = n * chance + std::sqrt(n * chance * (1.0 - chance)) * random_.normal();
      return std::clamp<std::int64_t>(std::llround(rows), 0, tokens_);
    }
    const double goal = stratified(expert, draw);
    double weight = none_[expert];
    double sum = weight;
    std::int64_t rows = 0;
    while (sum <= goal && rows < tokens_ && weight > 1e-18) {
      weight *= (n - static_cast<double>(rows)) * chance / ((1.0 - chance) * static_cast<double>(rows + 1));
      ++rows;
      sum += weight;
    }
    return rows;
  }

  // Uniform, from another of equal parts in every draw, in an order of the expert's own (Latin hypercube sampling): so
  // all draws together have as many active experts as the distribution.
  double stratified(std::size_t expert, std::uint64_t draw) {
    const std::uint64_t order = strata_[expert];
    const std::uint64_t part = (draw * (order | 1U) + (order >> 32U)) % draws_;  // draws_ is a power of two
    return (static_cast<double>(part) + random_.uniform()) / static_cast<double>(draws_);
  }

  // A rank with all experts has k rows a token: what is over or missing, one a turn from experts that can give or take.
  void settle(Counts& counts) const {
    std::int64_t missing = tokens_ * top_k_ - std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    for (std::int64_t least = 1; missing != 0 && least >= 0; --least) {
      for (bool moved = true; moved && missing != 0;) {
        moved = false;
        for (std::int64_t& rows : counts) {
          const std::int64_t step = missing > 0 ? (rows < tokens_ && rows >= least ? 1 : 0) : (rows > least ? -1 : 0);
          rows += step;
          missing -= step;
          moved = moved || step != 0;
          if (missing == 0) break;
        }
      }
    }
  }

  std::int64_t tokens_;
  int top_k_;
  int experts_;
  int local_;
  std::uint64_t draws_;
  bool by_popularity_ = false;
  int ranks_ = 1;
  std::vector<double> chances_;  // of the rank's experts
  std::vector<double> none_;     // that no token takes them
  std::vector<double> reached_;  // sums of all experts' chances, up to each
  std::vector<std::uint64_t> strata_;
  std::vector<int> deck_;
  Random random_;
};

bool same(const RowsHistogram& a, const RowsHistogram& b) {
  return std::equal(a.bins.begin(), a.bins.end(), b.bins.begin(), b.bins.end(),
                    [](const auto& x, const auto& y) { return x.rows == y.rows && x.experts == y.experts; });
}

}  // namespace

Result<std::vector<RowsDraw>> drawn_rows(std::int64_t tokens, int top_k, int experts, int local_experts,
                                         const RowModel& model) {
  TILEWRIGHT_TRY(expected_rows(tokens, top_k, experts, local_experts, model));  // the limits are the same
  std::vector<RowsDraw> draws;
  if (model.distribution == RowDistribution::balanced) return draws;
  const int kept = kept_draws(tokens, top_k, experts);
  const int count = kept * kDrawsAKept;
  Router router(tokens, top_k, experts, local_experts, model, count);
  std::vector<std::tuple<std::int64_t, std::int64_t, Counts>> all;
  for (int i = 0; i < count; ++i) {
    Counts counts = router.draw(static_cast<std::uint64_t>(i));
    const std::int64_t active = std::count_if(counts.begin(), counts.end(), [](std::int64_t rows) { return rows > 0; });
    const std::int64_t total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    all.emplace_back(active, total, std::move(counts));
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
  });
  const double share = 1.0 / kept;
  for (std::size_t part = 0; part < static_cast<std::size_t>(kept); ++part) {
    // A part has two in its middle: the one and the other in turn.
    const std::size_t i = part * kDrawsAKept + kDrawsAKept / 2 - part % 2;
    TILEWRIGHT_ASSIGN(RowsHistogram rows, rows_from_counts(std::get<2>(all[i])));
    const auto known = std::find_if(draws.begin(), draws.end(), [&](const RowsDraw& d) { return same(d.rows, rows); });
    if (known != draws.end()) {
      known->share += share;
    } else {
      draws.push_back({std::move(rows), share});
    }
  }
  return draws;
}

}  // namespace tilewright
