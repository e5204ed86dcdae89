#include "tools/tilewright/verification.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/reference.hpp"

namespace tilewright::cli {

double verification_tolerance(Precision precision, Backend backend) {
  if (precision == Precision::w4a4) return 0x1p-5;
  return backend == Backend::cuda ? 0x1p-7 : 0x1p-8;
}

Verification compare(const std::vector<float>& y, const std::vector<double>& reference, int tokens, Precision precision,
                     Backend backend) {
  Verification result;
  result.tolerance = verification_tolerance(precision, backend);
  if (tokens == 0) return result;
  const std::size_t hidden = reference.size() / static_cast<std::size_t>(tokens);
  for (int t = 0; t < tokens; ++t) {
    double largest = 0;
    double error = 0;
    for (std::size_t i = hidden * static_cast<std::size_t>(t); i < hidden * static_cast<std::size_t>(t + 1); ++i) {
      largest = std::max(largest, std::abs(reference[i]));
      const double difference = std::abs(static_cast<double>(y[i]) - reference[i]);
      error = std::isfinite(difference) ? std::max(error, difference) : std::numeric_limits<double>::infinity();
    }
    const double relative = error == 0 ? 0 : error / largest;
    if (result.worst_token < 0 || relative > result.max_rel_err) {
      result.max_rel_err = relative;
      result.worst_token = t;
    }
  }
  result.passed = result.max_rel_err <= result.tolerance;
  return result;
}

Result<std::vector<double>> reference_output(const ExpertWeights& weights, const Activation& activation,
                                             Precision precision, const std::vector<bf16>& x,
                                             const RoutedTokens& routed) {
  std::vector<double> y(x.size());
  TILEWRIGHT_TRY(cpu::reference_layer(weights, activation, precision, x.data(), routed, y.data()));
  return y;
}

}  // namespace tilewright::cli
