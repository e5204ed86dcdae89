// The functions of a score that routing evaluates for every expert of every token, written without branches or library
// calls so that loops over them vectorize. The GPU evaluates the same operations, without contracting any, and gets the
// same bits: which expert is chosen must not depend on where it is asked.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define TILEWRIGHT_ANYWHERE __host__ __device__
#else
#define TILEWRIGHT_ANYWHERE
#endif

namespace tilewright {

/// exp(x) for x <= 0 to within 2 ulp; results below 2^-126 are 0.
TILEWRIGHT_ANYWHERE inline float exp_nonpositive(float x) {
  constexpr float kSmallest = -87.33654F;  // log(2^-126)
  constexpr float kLog2E = 1.44269504F;
  constexpr float kToInteger = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer in the low bits
  constexpr float kLn2High = 0.693359375F;   // ln 2 in two parts; n * high is exact for |n| < 2^13
  constexpr float kLn2Low = -2.12194440e-4F;
  const float clamped = std::max(x, kSmallest);
  const float shifted = clamped * kLog2E + kToInteger;
  const float n = shifted - kToInteger;
  const float r = (clamped - n * kLn2High) - n * kLn2Low;  // |r| <= ln 2 / 2
  // exp(r) = 1 + r + r^2 q(r), q the Taylor series: its first term left out is r^8 / 8!, 5e-9 at most.
  float q = 1.0F / 5040.0F;
  q = q * r + 1.0F / 720.0F;
  q = q * r + 1.0F / 120.0F;
  q = q * r + 1.0F / 24.0F;
  q = q * r + 1.0F / 6.0F;
  q = q * r + 0.5F;
  const float power = std::bit_cast<float>((std::bit_cast<std::uint32_t>(shifted) << 23U) + 0x3F800000U);  // 2^n
  return (x < kSmallest ? 0.0F : power) * ((r * r * q + r) + 1.0F);
}

/// 1 / (1 + exp(-x)).
TILEWRIGHT_ANYWHERE inline float sigmoid(float x) {
  const float e = exp_nonpositive(-std::abs(x));
  return (x >= 0.0F ? 1.0F : e) / (1.0F + e);
}

/// log(1 + exp(x)), as max(x, 0) + log1p(e) with e = exp(-|x|) and log1p(e) = 2 atanh(s), s = e / (2 + e) <= 1/3. The
/// first term of the series left out is s^17 / 17, less than 1e-9 of the sum.
TILEWRIGHT_ANYWHERE inline float softplus(float x) {
  const float e = exp_nonpositive(-std::abs(x));
  const float s = e / (2.0F + e);
  const float s2 = s * s;
  float series = 1.0F / 15.0F;
  series = series * s2 + 1.0F / 13.0F;
  series = series * s2 + 1.0F / 11.0F;
  series = series * s2 + 1.0F / 9.0F;
  series = series * s2 + 1.0F / 7.0F;
  series = series * s2 + 1.0F / 5.0F;
  series = series * s2 + 1.0F / 3.0F;
  return std::max(x, 0.0F) + 2.0F * (s * s2 * series + s);
}

/// A value and its index as one integer: the larger value has the larger key, of equal values the lower index, and
/// every key of a finite value is above 0. The bits of an fp32 order as integers once the negative ones are inverted
/// and the others take the upper half; + 0 makes -0 and 0 equal.
TILEWRIGHT_ANYWHERE inline std::uint64_t order_key(float value, std::uint32_t index) {
  const auto bits = std::bit_cast<std::uint32_t>(value + 0.0F);
  const std::uint32_t ordered = bits ^ ((0U - (bits >> 31U)) | 0x80000000U);
  return (static_cast<std::uint64_t>(ordered) << 32U) | ~index;
}

}  // namespace tilewright
