// Inputs of an expert layer that are the same on every machine and every run: drawn from a seed.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewright/checkpoint.hpp"
#include "tilewright/expert_weights.hpp"
#include "tilewright/float_types.hpp"
#include "tilewright/result.hpp"
#include "tilewright/routing.hpp"

namespace tilewright::cli {

/// A stream of random numbers (SplitMix64); the same seed gives the same numbers everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits();
  double uniform();  ///< in (0, 1)
  double normal();   ///< mean 0, deviation 1

 private:
  std::uint64_t state_;
};

/// [tokens, hidden], normal with deviation 1: what a normalised hidden state looks like.
std::vector<bf16> random_activations(int tokens, std::int64_t hidden, std::uint64_t seed);

/// [tokens, experts], normal.
std::vector<float> random_logits(int tokens, int experts, std::uint64_t seed);

/// Logits of the checkpoint's own router for x [tokens, router.hidden].
std::vector<float> router_logits(const Router& router, const std::vector<bf16>& x, int tokens);

/// Random NVFP4 experts with outputs of about the size of their inputs. gate and up have different global scales.
struct RandomExperts {
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;
  int experts = 0;  ///< that live here, from `first_expert` on
  int first_expert = 0;
  int global_experts = 0;
  bool gated = true;
};
ExpertWeights random_experts(const RandomExperts& shape, std::uint64_t seed);

}  // namespace tilewright::cli
