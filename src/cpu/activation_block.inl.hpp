// The activation between GEMM1 and GEMM2 over arrays, for the translation units of the instruction sets: plain C++ that
// the compiler vectorises for each of them. Internal linkage on purpose: the copies must never be merged.
#pragma once

#include <bit>
#include <cstdint>

#include "tilewright/activation.hpp"

namespace tilewright::cpu {
namespace {  // NOLINT(google-build-namespaces,cert-dcl59-cpp): see above

/// exp(x) for x <= 88, 0 below -87: x = n ln 2 + r with |r| <= ln 2 / 2, exp(r) by its Taylor polynomial of degree 7
/// (truncation (ln 2 / 2)^8 / 8! = 5e-9) and 2^n by the exponent field.
inline float fast_exp(float x) {
  constexpr float kLog2E = 1.44269504F;
  constexpr float kLn2High = 0.693359375F;    // 9 bits, so that n * high is exact
  constexpr float kLn2Low = -2.12194440e-4F;  // ln 2 - high
  constexpr float kRound = 12582912.0F;       // 1.5 * 2^23: adding it rounds to an integer in the low bits
  const float clamped = x < -87.0F ? -87.0F : (x > 88.0F ? 88.0F : x);
  const float shifted = clamped * kLog2E + kRound;
  const float n = shifted - kRound;
  const float r = (clamped - n * kLn2High) - n * kLn2Low;
  float p = 1.0F / 5040.0F;
  p = p * r + 1.0F / 720.0F;
  p = p * r + 1.0F / 120.0F;
  p = p * r + 1.0F / 24.0F;
  p = p * r + 1.0F / 6.0F;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  const auto exponent = std::bit_cast<std::int32_t>(shifted) << 23;  // n in the low bits of `shifted`
  const auto power = std::bit_cast<float>(exponent + 0x3F800000);
  return x < -87.0F ? 0.0F : p * power;
}

inline float sigmoid(float x) {
  const float decay = fast_exp(x < 0.0F ? x : -x);
  return (x < 0.0F ? decay : 1.0F) / (1.0F + decay);
}

inline float upper(float x, float limit) { return x < limit ? x : limit; }
inline float clamp(float x, float limit) { return x < -limit ? -limit : (x < limit ? x : limit); }

inline float gelu_tanh(float x) {
  // 0.5 x (1 + tanh(z)) = x sigmoid(2 z), z = sqrt(2 / pi) (x + 0.044715 x^3).
  return x * sigmoid(1.59576912F * (x + 0.044715F * x * x * x));
}

template <typename F>
void each(const float* gate, const float* up, int count, float* out, F function) {
  for (int i = 0; i < count; ++i) out[i] = function(gate[i], up[i]);
}

void activate_block(const Activation& activation, const float* gate, const float* up, int count, float* out) {
  const float limit = activation.limit;
  switch (activation.kind) {
    case ActivationKind::silu_gated:
      return each(gate, up, count, out, [](float g, float u) { return g * sigmoid(g) * u; });
    case ActivationKind::silu_gated_clamped:
      return each(gate, up, count, out, [limit](float g, float u) {
        const float bounded = upper(g, limit);
        return bounded * sigmoid(bounded) * clamp(u, limit);
      });
    case ActivationKind::swiglu_step:
      return each(gate, up, count, out,
                  [limit](float g, float u) { return upper(g * sigmoid(g), limit) * clamp(u, limit); });
    case ActivationKind::swiglu_oai:
      return each(gate, up, count, out, [limit](float g, float u) {
        const float bounded = upper(g, limit);
        return bounded * sigmoid(1.702F * bounded) * (clamp(u, limit) + 1.0F);
      });
    case ActivationKind::gelu_tanh_gated:
      return each(gate, up, count, out, [](float g, float u) { return gelu_tanh(g) * u; });
    case ActivationKind::relu2:
      for (int i = 0; i < count; ++i) {
        const float positive = up[i] > 0.0F ? up[i] : 0.0F;
        out[i] = positive * positive;
      }
      return;
  }
}

}  // namespace
}  // namespace tilewright::cpu
