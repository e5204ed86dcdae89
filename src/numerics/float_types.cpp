#include "tilewright/float_types.hpp"

namespace tilewright {
namespace {

constexpr std::uint32_t kFp32Infinity = 0x7F800000U;
constexpr std::uint32_t kFp32QuietBit = 0x00400000U;
constexpr std::uint32_t kSmallestNormalFp16 = 0x38800000U;  // 2^-14 as an fp32
constexpr std::uint32_t kBiasDifference = (127U - 15U) << 23U;
constexpr int kMantissaDifference = 23 - 10;

}  // namespace

float to_float(fp16 x) {
  const std::uint32_t sign = static_cast<std::uint32_t>(x.bits & 0x8000U) << 16U;
  const std::uint32_t exponent = (x.bits >> 10U) & 0x1FU;
  const std::uint32_t mantissa = x.bits & 0x3FFU;
  if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24, exact in fp32
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  std::uint32_t bits = sign | (mantissa << kMantissaDifference);
  if (exponent == 0x1F) {
    bits |= kFp32Infinity | (mantissa != 0 ? kFp32QuietBit : 0U);
  } else {
    bits |= (exponent + (127U - 15U)) << 23U;
  }
  return std::bit_cast<float>(bits);
}

fp16 to_fp16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = (bits >> 16U) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  std::uint32_t half = 0;
  if (magnitude > kFp32Infinity) {  // NaN: quiet, with the upper bits of its payload
    half = 0x7E00U | ((magnitude >> kMantissaDifference) & 0x3FFU);
  } else if (magnitude < kSmallestNormalFp16) {
    // The ulp of 0.5 is 2^-24, the step of fp16's subnormals: the addition itself rounds to nearest even.
    half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - std::bit_cast<std::uint32_t>(0.5F);
  } else {
    const std::uint32_t odd = (magnitude >> kMantissaDifference) & 1U;
    half = (magnitude - kBiasDifference + 0xFFFU + odd) >> kMantissaDifference;
    if (half > 0x7C00U) half = 0x7C00U;  // 65520 and above round to infinity
  }
  return fp16{static_cast<std::uint16_t>(sign | half)};
}

}  // namespace tilewright
