#include "tools/tilewright/tensor_io.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <limits>

#include "tilewright/safetensors.hpp"

namespace tilewright::cli {
namespace {

template <typename T>
std::vector<T> copied(const TensorView& view) {
  std::vector<T> values(view.bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), view.bytes.data(), values.size() * sizeof(T));
  return values;
}

tl::unexpected<Error> wrong(const std::string& path, const std::string& name, const TensorView& view,
                            const std::string& wanted) {
  return fail(ErrorCode::mismatch, fmt::format("'{}': tensor {} is {} [{}], not {}", path, name, to_string(view.dtype),
                                               fmt::join(view.shape, ", "), wanted));
}

bool has_shape(const TensorView& view, std::int64_t rows, std::int64_t cols) {
  return view.shape == std::vector<std::int64_t>{rows, cols};
}

std::vector<bf16> as_bf16(const TensorView& view) {
  if (view.dtype == DType::bf16) return copied<bf16>(view);
  std::vector<bf16> x;
  if (view.dtype == DType::f16) {
    for (const fp16 value : copied<fp16>(view)) x.push_back(to_bf16(to_float(value)));
  } else {
    for (const float value : copied<float>(view)) x.push_back(to_bf16(value));
  }
  return x;
}

Status read_ids(const std::string& path, const TensorFiles& files, InputFile& input) {
  const TensorView* ids = files.find("topk_ids");
  const TensorView* weights = files.find("topk_weights");
  if (ids == nullptr && weights == nullptr) return {};
  if (ids == nullptr || weights == nullptr) {
    return fail(ErrorCode::mismatch, fmt::format("'{}' has only one of topk_ids and topk_weights", path),
                "write both, or neither");
  }
  const bool wide = ids->dtype == DType::i64;
  if ((!wide && ids->dtype != DType::i32) || ids->shape.size() != 2 || ids->shape[0] != input.tokens) {
    return wrong(path, "topk_ids", *ids, fmt::format("I32 or I64 [{}, k]", input.tokens));
  }
  if (weights->dtype != DType::f32 || weights->shape != ids->shape) {
    return wrong(path, "topk_weights", *weights, fmt::format("F32 [{}]", fmt::join(ids->shape, ", ")));
  }
  input.routed.tokens = input.tokens;
  input.routed.top_k = static_cast<int>(ids->shape[1]);
  input.routed.weights = copied<float>(*weights);
  if (!wide) {
    input.routed.ids = copied<std::int32_t>(*ids);
    return {};
  }
  for (const std::int64_t id : copied<std::int64_t>(*ids)) {
    if (id < -1 || id > std::numeric_limits<std::int32_t>::max()) {
      return fail(ErrorCode::corrupt, fmt::format("'{}': topk_ids holds {}", path, id), "an id is an expert or -1");
    }
    input.routed.ids.push_back(static_cast<std::int32_t>(id));
  }
  return {};
}

}  // namespace

Result<InputFile> read_input(const std::string& path, std::int64_t hidden, int experts) {
  TILEWRIGHT_ASSIGN(const TensorFiles files, TensorFiles::open(path));
  const TensorView* x = files.find("x");
  if (x == nullptr)
    return fail(ErrorCode::not_found, fmt::format("'{}' has no tensor named x", path),
                "write the activations as x, [tokens, hidden]");
  const bool known = x->dtype == DType::bf16 || x->dtype == DType::f16 || x->dtype == DType::f32;
  if (!known || x->shape.size() != 2 || x->shape[1] != hidden || x->shape[0] > std::numeric_limits<int>::max()) {
    return wrong(path, "x", *x, fmt::format("BF16, F16 or F32 [tokens, {}]", hidden));
  }
  InputFile input;
  input.tokens = static_cast<int>(x->shape[0]);
  input.x = as_bf16(*x);
  if (const TensorView* logits = files.find("router_logits"); logits != nullptr) {
    if (logits->dtype != DType::f32 || !has_shape(*logits, input.tokens, experts)) {
      return wrong(path, "router_logits", *logits, fmt::format("F32 [{}, {}]", input.tokens, experts));
    }
    input.logits = copied<float>(*logits);
    return input;
  }
  TILEWRIGHT_TRY(read_ids(path, files, input));
  return input;
}

Status write_output(const std::string& path, const std::vector<float>& y, int tokens) {
  const std::int64_t hidden = tokens == 0 ? 0 : static_cast<std::int64_t>(y.size()) / tokens;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(y.data());
  return write_safetensors(path, {{"y", DType::f32, {tokens, hidden}, {bytes, y.size() * sizeof(float)}}});
}

}  // namespace tilewright::cli
