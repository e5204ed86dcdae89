// The activation formulas, one scalar function each, in float or double: what the reference computes and what the
// vector code is tested against.
//
// sigmoid is written over exp(-|x|), which never overflows: every formula is finite, and as accurate as its type
// allows, for every finite x whose result is finite. Limits and formulas: see ActivationKind.
#pragma once

#include <algorithm>
#include <cmath>

#include "tilewright/activation.hpp"

namespace tilewright::cpu {

template <typename T>
T sigmoid(T x) {
  const T decay = std::exp(-std::abs(x));
  return (x >= T(0) ? T(1) : decay) / (T(1) + decay);
}

template <typename T>
T silu(T x) {
  return x * sigmoid(x);
}

/// 0.5 x (1 + tanh(z)) with z = sqrt(2 / pi) (x + 0.044715 x^3), as x * sigmoid(2 z): the two are equal, and this one
/// does not cancel for negative x.
template <typename T>
T gelu_tanh(T x) {
  constexpr T kSqrtTwoOverPi = T(0.79788456080286535588);
  return x * sigmoid(T(2) * kSqrtTwoOverPi * (x + T(0.044715) * x * x * x));
}

/// The intermediate value of one channel. A non-gated kind reads `up` alone.
template <typename T>
T activate(const Activation& activation, T gate, T up) {
  const T limit = static_cast<T>(activation.limit);
  switch (activation.kind) {
    case ActivationKind::silu_gated: return silu(gate) * up;
    case ActivationKind::silu_gated_clamped: return silu(std::min(gate, limit)) * std::clamp(up, -limit, limit);
    case ActivationKind::swiglu_step: return std::min(silu(gate), limit) * std::clamp(up, -limit, limit);
    case ActivationKind::swiglu_oai: {
      const T clamped = std::min(gate, limit);
      return clamped * sigmoid(T(1.702) * clamped) * (std::clamp(up, -limit, limit) + T(1));
    }
    case ActivationKind::gelu_tanh_gated: return gelu_tanh(gate) * up;
    case ActivationKind::relu2: {
      const T positive = std::max(up, T(0));
      return positive * positive;
    }
  }
  return T(0);
}

}  // namespace tilewright::cpu
