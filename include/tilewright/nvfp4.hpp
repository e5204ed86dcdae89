// NVFP4: e2m1 codes, one ue4m3 scale for 16 of them, one fp32 scale for a tensor.
//
//   value = e2m1(code) * ue4m3(scale) * global_scale
//
// Rounding is to nearest, ties to even, saturating, as PTX's cvt.rn.satfinite does it. The quantization recipe is the
// "exact" one of FlashInfer and TensorRT-LLM's fp4_quantize (no approximate reciprocals):
//
//   S   = 1 / global_scale                       (the quantization multiplier, 2688 / amax)
//   sf  = vec_max != 0 ? vec_max * (S * (1/6)) : 0           scale = ue4m3(sf)
//   out = vec_max != 0 ? min(1 / (value(scale) * (1 / S)), FLT_MAX) : 0
//   code = e2m1(x * out)
//
// every operation rounded to fp32 once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tilewright {

inline constexpr int kBlock = 16;            ///< elements that share a block scale
inline constexpr float kE2m1Max = 6.0F;      ///< largest e2m1 magnitude
inline constexpr float kUe4m3Max = 448.0F;   ///< largest ue4m3 value
inline constexpr float kNvfp4Max = 2688.0F;  ///< 6 * 448: amax / 2688 is the global scale
inline constexpr std::uint8_t kUe4m3Nan = 0x7F;

/// Values of the 16 e2m1 codes; code 8 is -0.
inline constexpr std::array<float, 16> kE2m1Values = {0.0F,  0.5F,  1.0F,  1.5F,  2.0F,  3.0F,  4.0F,  6.0F,
                                                      -0.0F, -0.5F, -1.0F, -1.5F, -2.0F, -3.0F, -4.0F, -6.0F};

/// e2m1 code nearest to x (ties to even); |x| > 5 gives +-6, NaN gives 7, and a negative zero or underflow gives 8.
std::uint8_t encode_e2m1(float x);

/// ue4m3 byte nearest to x >= 0 (ties to even, saturating at 448); NaN gives 0x7F; x <= 0 gives 0.
std::uint8_t encode_ue4m3(float x);

/// Value of a ue4m3 byte: 0x7F is NaN. Bit 7 is illegal in NVFP4 and reads as NaN too, except 0x80, which reads as 0.
float decode_ue4m3(std::uint8_t byte);

/// How the block scale is chosen.
enum class ScaleSelection {
  amax,           ///< block amax maps to 6
  four_over_six,  ///< of amax -> 6 and amax -> 4, the one with the smaller squared error (a tie keeps 6)
};

/// The global scale that maps a tensor's amax to 6 times the largest block scale: amax / (6 * 448), or amax / (6 * 256)
/// with four_over_six, where 1.5 * scale must stay a ue4m3 value (arXiv 2512.02010). A finite, normal fp32 with a
/// finite reciprocal whatever amax is: at least the smallest normal fp32, and 1 where amax is 0 or not finite.
float global_scale_for(float amax, ScaleSelection selection);

/// The recipe's scale of a block, and what its elements are multiplied by before they are encoded.
struct BlockScale {
  std::uint8_t scale = 0;
  float code_multiplier = 0.0F;
};
BlockScale block_scale(float vec_max, float quant_multiplier);

struct Nvfp4Block {
  std::array<std::uint8_t, kBlock / 2> codes{};  ///< low nibble = even element
  std::uint8_t scale = 0;
};

/// Quantizes 16 values. `quant_multiplier` is S, the reciprocal of the global scale. NaN elements do not take part in
/// the maximum and get code 7; a block of nothing but NaN gets scale 0x7F. four_over_six also tries the scale
/// ue4m3(1.5 * sf) and keeps it only where squared_error says that it is strictly better.
Nvfp4Block quantize_block(std::span<const float, kBlock> x, float quant_multiplier,
                          ScaleSelection selection = ScaleSelection::amax);

/// Squared error of a quantized block, in fp32: the sums of elements 0 to 7 and 8 to 15, added. It is the order of
/// FlashInfer's four-over-six, and it decides close calls.
float squared_error(std::span<const float, kBlock> x, const Nvfp4Block& block, float global_scale);

/// Quantizes one row; x.size() must be a multiple of 16, codes has x.size() / 2 bytes and scales x.size() / 16.
void quantize_row(std::span<const float> x, float quant_multiplier, std::span<std::uint8_t> codes,
                  std::span<std::uint8_t> scales, ScaleSelection selection = ScaleSelection::amax);

/// Dequantizes one row in fp32: e2m1 * ue4m3 is exact, the product with global_scale rounds once.
void dequantize_row(std::span<const std::uint8_t> codes, std::span<const std::uint8_t> scales, float global_scale,
                    std::span<float> x);

}  // namespace tilewright
