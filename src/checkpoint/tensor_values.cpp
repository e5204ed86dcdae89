#include "checkpoint/tensor_values.hpp"

#include <cstring>

#include <fmt/format.h>

#include "tilewright/float_types.hpp"

namespace tilewright {
namespace {

// Tensor bytes have no alignment.
template <typename Stored>
Stored load(const std::uint8_t* bytes, std::size_t index) {
  Stored value;
  std::memcpy(&value, bytes + index * sizeof(Stored), sizeof(Stored));
  return value;
}

}  // namespace

bool is_floating(DType dtype) { return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16; }

void convert_values(DType dtype, const std::uint8_t* bytes, std::span<float> out) {
  switch (dtype) {
    case DType::f32: std::memcpy(out.data(), bytes, out.size_bytes()); return;
    case DType::bf16:
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = to_float(load<bf16>(bytes, i));
      return;
    case DType::f16:
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = to_float(load<fp16>(bytes, i));
      return;
    default: return;
  }
}

Result<std::vector<float>> read_values(const std::string& name, const TensorView& view) {
  if (!is_floating(view.dtype)) {
    return fail(ErrorCode::unsupported, fmt::format("{} is {}, not BF16, F16 or F32", name, to_string(view.dtype)),
                "convert the tensor first");
  }
  std::vector<float> values(static_cast<std::size_t>(view.elements()));
  convert_values(view.dtype, view.bytes.data(), values);
  return values;
}

}  // namespace tilewright
