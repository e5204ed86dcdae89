// The rows of the rank that the published layers were timed on: the collector's two distributions.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <span>

#include "tilewright/published.hpp"

namespace tilewright {
namespace {

using Counts = std::vector<std::int64_t>;

// Draws of a power law that are averaged; the collector averages 5 of its own.
constexpr int kDraws = 8;

RowsHistogram histogram(Counts counts) {
  std::sort(counts.begin(), counts.end(), std::greater<>());
  RowsHistogram rows;
  for (const std::int64_t count : counts) {
    if (rows.bins.empty() || rows.bins.back().rows != count) rows.bins.push_back({count, 0});
    ++rows.bins.back().experts;
  }
  return rows;
}

Counts balanced_counts(const PublishedLayer& layer) {
  const std::int64_t stride = (layer.experts + layer.top_k - 1) / layer.top_k;
  Counts counts(static_cast<std::size_t>(layer.experts), 0);
  const auto add = [&](std::int64_t first, std::int64_t rows) {
    for (int j = 0; j < layer.top_k; ++j) {
      counts[static_cast<std::size_t>((first + j * stride) % layer.experts)] += rows;
    }
  };
  if (layer.tokens < stride) {
    for (std::int64_t t = 0; t < layer.tokens; ++t) add(t * stride / layer.tokens, 1);
  } else {
    // The pattern repeats after E tokens.
    const std::int64_t whole = layer.tokens / layer.experts;
    const std::int64_t rest = layer.tokens % layer.experts;
    for (std::int64_t t = 0; t < layer.experts; ++t) add(t, whole + (t < rest ? 1 : 0));
  }
  counts.resize(static_cast<std::size_t>(layer.experts / layer.ep));
  return counts;
}

// Adds up to `amount` rows, one at a time to the smallest expert, none above `most`. Returns how many found no place.
std::int64_t raise_smallest(std::span<std::int64_t> counts, std::int64_t amount, std::int64_t most) {
  const auto needed = [&](std::int64_t level) {
    std::int64_t sum = 0;
    for (const std::int64_t count : counts) sum += std::max<std::int64_t>(level - count, 0);
    return sum;
  };
  std::int64_t low = 0;
  std::int64_t high = most;  // the highest level that the amount pays for lies in [low, high]
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    if (needed(middle) <= amount)
      low = middle;
    else
      high = middle - 1;
  }
  amount -= needed(low);
  for (std::int64_t& count : counts) {
    count = std::max(count, low);
    if (count == low && amount > 0 && low < most) {
      ++count;
      --amount;
    }
  }
  return amount;
}

// Takes up to `amount` rows, one at a time from the largest expert. Returns how many were not there.
std::int64_t lower_largest(std::span<std::int64_t> counts, std::int64_t amount) {
  const std::int64_t most = *std::max_element(counts.begin(), counts.end());
  for (std::int64_t& count : counts) count = most - count;
  const std::int64_t left = raise_smallest(counts, amount, most);
  for (std::int64_t& count : counts) count = most - count;
  return left;
}

// Spreads `amount` over the ranks in turn; what one of them cannot take goes round again.
template <typename Change>
void change_in_turn(Counts& counts, std::int64_t amount, int ranks, const Change& change) {
  const std::size_t local = counts.size() / static_cast<std::size_t>(ranks);
  while (amount > 0) {
    std::int64_t left = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const std::int64_t share = amount / ranks + (rank < amount % ranks ? 1 : 0);
      left += change(std::span(counts).subspan(static_cast<std::size_t>(rank) * local, local), share);
    }
    if (left == amount) return;
    amount = left;
  }
}

Counts drawn_counts(const PublishedLayer& layer, std::mt19937_64& random) {
  const double power = 1.0 - layer.alpha;
  const bool few = layer.tokens * layer.top_k <= layer.experts;
  const double low = std::pow(few ? 0.01 : 1.0, power);
  const double high = std::pow(few ? 2.0 : 0.8 * static_cast<double>(layer.tokens), power);
  std::vector<double> weights(static_cast<std::size_t>(layer.experts));
  for (double& weight : weights) {
    const double uniform = static_cast<double>(random() >> 11) * 0x1p-53;
    weight = std::pow((high - low) * uniform + low, 1.0 / power);
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  const std::int64_t wanted = layer.tokens * layer.top_k;
  Counts counts(weights.size());
  std::int64_t total = 0;
  std::int64_t overflow = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    counts[i] = static_cast<std::int64_t>(std::nearbyint(weights[i] / sum * static_cast<double>(wanted)));
    total += counts[i];
    overflow += std::max<std::int64_t>(counts[i] - layer.tokens, 0);
    counts[i] = std::min(counts[i], layer.tokens);  // a token takes an expert once
  }
  const auto raise = [&](std::span<std::int64_t> rank, std::int64_t share) {
    return raise_smallest(rank, share, layer.tokens);
  };
  change_in_turn(counts, overflow, layer.ep, raise);
  if (total < wanted) change_in_turn(counts, wanted - total, layer.ep, raise);
  if (total > wanted) change_in_turn(counts, total - wanted, layer.ep, lower_largest);
  return counts;
}

// The rank with the most rows.
Counts hottest_rank(const Counts& counts, int ranks) {
  const auto local = static_cast<std::ptrdiff_t>(counts.size()) / ranks;
  auto hottest = counts.begin();
  std::int64_t most = -1;
  for (auto rank = counts.begin(); rank != counts.end(); rank += local) {
    const std::int64_t rows = std::accumulate(rank, rank + local, std::int64_t{0});
    if (rows > most) {
      most = rows;
      hottest = rank;
    }
  }
  return {hottest, hottest + local};
}

}  // namespace

std::vector<RowsHistogram> published_rows(const PublishedLayer& layer) {
  if (layer.alpha <= 0.0) return {histogram(balanced_counts(layer))};
  std::seed_seq seed = {static_cast<unsigned>(layer.tokens), static_cast<unsigned>(layer.top_k),
                        static_cast<unsigned>(layer.experts), static_cast<unsigned>(layer.ep)};
  std::mt19937_64 random(seed);
  std::vector<RowsHistogram> draws;
  for (int i = 0; i < kDraws; ++i) draws.push_back(histogram(hottest_rank(drawn_counts(layer, random), layer.ep)));
  return draws;
}

}  // namespace tilewright
