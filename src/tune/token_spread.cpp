#include <fmt/format.h>

#include <numeric>
#include <random>

#include "tilewright/layer_bench.hpp"

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

}  // namespace

const char* to_string(TokenSpread spread) { return spread == TokenSpread::balanced ? "balanced" : "uniform"; }

Result<TokenSpread> parse_token_spread(const std::string& name) {
  if (name == "balanced") return TokenSpread::balanced;
  if (name == "uniform") return TokenSpread::uniform;
  return fail(ErrorCode::invalid_argument, fmt::format("unknown token spread '{}'", name), "one of balanced, uniform");
}

RoutedTokens spread_tokens(TokenSpread spread, int tokens, int top_k, int experts, int round) {
  RoutedTokens routed;
  routed.tokens = tokens;
  routed.top_k = top_k;
  routed.ids.resize(static_cast<std::size_t>(tokens) * top_k);
  routed.weights.assign(routed.ids.size(), 1.0F / static_cast<float>(top_k));
  if (spread == TokenSpread::balanced) {
    spread_balanced(routed, experts, round);
  } else {
    spread_uniform(routed, experts, round);
  }
  return routed;
}

}  // namespace tilewright
