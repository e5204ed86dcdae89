// Tensors of floating-point values, read as fp32.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tilewright/safetensors.hpp"

namespace tilewright {

/// True for the dtypes that convert_values takes: F32, F16 and BF16.
bool is_floating(DType dtype);

/// Elements [0, out.size()) of packed `bytes` of a floating dtype, as fp32 (exactly).
void convert_values(DType dtype, const std::uint8_t* bytes, std::span<float> out);

/// A whole tensor. Another dtype is an error that names it.
Result<std::vector<float>> read_values(const std::string& name, const TensorView& view);

}  // namespace tilewright
