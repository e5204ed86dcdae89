// Sizes of the operand and output types that the builders are asked for.
#pragma once

#include <cstdint>

#include "tilewright/cutlass.hpp"

namespace tilewright::schedule::cutlass {

/// Bits of a value in global memory; 0 of void.
constexpr int bits(CutlassElement element) {
  switch (element) {
    case CutlassElement::none: return 0;
    case CutlassElement::e2m1: return 4;
    case CutlassElement::e4m3:
    case CutlassElement::e5m2: return 8;
    case CutlassElement::f16:
    case CutlassElement::bf16: return 16;
    case CutlassElement::f32: return 32;
  }
  return 0;
}

constexpr int bits(CutlassOperand operand) {
  switch (operand) {
    case CutlassOperand::nvfp4:
    case CutlassOperand::mxfp4: return 4;
    case CutlassOperand::mxfp8:
    case CutlassOperand::fp8: return 8;
    case CutlassOperand::bf16:
    case CutlassOperand::fp16: return 16;
  }
  return 0;
}

/// Elements that share a scale factor; 0 of a type without block scales.
constexpr int scale_vector(CutlassOperand operand) {
  switch (operand) {
    case CutlassOperand::nvfp4: return 16;
    case CutlassOperand::mxfp4:
    case CutlassOperand::mxfp8: return 32;
    default: return 0;
  }
}

constexpr bool block_scaled(CutlassOperand operand) { return scale_vector(operand) != 0; }

/// Bytes of `count` elements of `bit_width` bits.
constexpr std::int64_t bytes_of(std::int64_t count, int bit_width) { return count * bit_width / 8; }

}  // namespace tilewright::schedule::cutlass
