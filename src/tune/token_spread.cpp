#include <fmt/format.h>

#include <numeric>
#include <random>

#include "schedule/enum_names.hpp"
#include "schedule/power_law.hpp"
#include "tilewright/layer_bench.hpp"
#include "tilewright/problem.hpp"
#include "tune/popular_experts.hpp"

namespace tilewright {
namespace {

/// The expert of slot number `slot`, counted over all tokens and rounds.
std::int32_t balanced_expert(std::int64_t slot, int experts, int top_k) {
  if (experts % top_k == 0) {
    // One expert from each of top_k equal runs: an expert-parallel rank that holds a run gets one row a token.
    const std::int64_t run = experts / top_k;
    return static_cast<std::int32_t>(slot % top_k * run + slot / top_k % run);
  }
  // A step near experts / top_k that visits every expert before it repeats one.
  std::int64_t step = experts / top_k + 1;
  while (std::gcd(step, static_cast<std::int64_t>(experts)) != 1) ++step;
  return static_cast<std::int32_t>(slot % experts * step % experts);
}

void spread_balanced(RoutedTokens& routed, int experts, int round) {
  const auto slots = static_cast<std::int64_t>(routed.ids.size());
  for (std::int64_t i = 0; i < slots; ++i) {
    routed.ids[static_cast<std::size_t>(i)] = balanced_expert(round * slots + i, experts, routed.top_k);
  }
}

void spread_uniform(RoutedTokens& routed, int experts, int round) {
  std::mt19937_64 random(0x5EED0000U + static_cast<std::uint64_t>(round));
  std::vector<std::int32_t> deck(static_cast<std::size_t>(experts));
  std::iota(deck.begin(), deck.end(), 0);
  for (int token = 0; token < routed.tokens; ++token) {
    for (int slot = 0; slot < routed.top_k; ++slot) {
      const auto pick = slot + static_cast<int>(random() % static_cast<std::uint64_t>(experts - slot));
      std::swap(deck[slot], deck[pick]);
      routed.ids[static_cast<std::size_t>(token) * routed.top_k + slot] = deck[slot];
    }
  }
}

/// The expert that is number `popularity` of all, the most popular first: neighbours are far apart, so that every
/// expert-parallel rank is dealt some. Expert 0 is the most popular.
std::int32_t popular_expert(int popularity, int experts) {
  auto step = static_cast<std::int64_t>(0.618 * experts) + 1;  // the golden ratio spreads multiples evenly
  while (std::gcd(step, static_cast<std::int64_t>(experts)) != 1) ++step;
  return static_cast<std::int32_t>(popularity * step % experts);
}

/// Systematic sampling: with the chances laid end to end, a token takes the experts at u, u + 1, ... u + top_k - 1.
/// That gives each expert exactly its chance, and no token an expert twice.
void spread_skewed(RoutedTokens& routed, int experts, int round) {
  std::mt19937_64 random(0x5EED0000U + static_cast<std::uint64_t>(round));
  const std::vector<double> chances = schedule::power_law_chances(routed.top_k, experts, RowModel{}.alpha);
  for (int token = 0; token < routed.tokens; ++token) {
    double next = static_cast<double>(random() >> 11U) * 0x1p-53;
    double sum = 0;
    int slot = 0;
    for (int i = 0; i < experts && slot < routed.top_k; ++i) {
      sum += chances[static_cast<std::size_t>(i)];
      const bool only_way = experts - i == routed.top_k - slot;  // where rounding left the sum below top_k
      if (sum <= next && !only_way) continue;
      routed.ids[static_cast<std::size_t>(token) * routed.top_k + slot] = popular_expert(i, experts);
      ++slot;
      next += 1.0;
    }
  }
}

void spread_single(RoutedTokens& routed, int experts, int round) {
  for (std::size_t i = 0; i < routed.ids.size(); ++i) {
    const std::int64_t slot = static_cast<std::int64_t>(i) % routed.top_k;
    routed.ids[i] = static_cast<std::int32_t>((std::int64_t{round} * routed.top_k + slot) % experts);
  }
}

constexpr schedule::EnumNames<4> kSpreadNames = {"balanced", "uniform", "skewed", "single"};

}  // namespace

std::vector<std::int32_t> tune::popularity_of_experts(int experts) {
  std::vector<std::int32_t> popularity(static_cast<std::size_t>(experts));
  for (int i = 0; i < experts; ++i) popularity[static_cast<std::size_t>(popular_expert(i, experts))] = i;
  return popularity;
}

const char* to_string(TokenSpread spread) { return schedule::name_of(kSpreadNames, spread); }

Result<TokenSpread> parse_token_spread(const std::string& name) {
  return schedule::value_of<TokenSpread>(kSpreadNames, name, "token spread");
}

RoutedTokens spread_tokens(TokenSpread spread, int tokens, int top_k, int experts, int round) {
  RoutedTokens routed;
  routed.tokens = tokens;
  routed.top_k = top_k;
  routed.ids.resize(static_cast<std::size_t>(tokens) * top_k);
  routed.weights.assign(routed.ids.size(), 1.0F / static_cast<float>(top_k));
  switch (spread) {
    case TokenSpread::balanced: spread_balanced(routed, experts, round); break;
    case TokenSpread::uniform: spread_uniform(routed, experts, round); break;
    case TokenSpread::skewed: spread_skewed(routed, experts, round); break;
    case TokenSpread::single: spread_single(routed, experts, round); break;
  }
  return routed;
}

}  // namespace tilewright
