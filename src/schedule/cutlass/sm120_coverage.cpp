// What compiled evidence covers on SM120: cutlass_oracle.csv and rows that were compiled beside it.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "schedule/cutlass/answer.hpp"
#include "schedule/cutlass/elements.hpp"
#include "schedule/cutlass/sm120_builder.hpp"
#include "schedule/cutlass/tags.hpp"

namespace tilewright::schedule::cutlass {
namespace {

bool one_of(int value, std::initializer_list<int> values) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

std::string operands_of(const CutlassRequest& request) {
  return fmt::format("{} x {}", to_string(request.a), to_string(request.b));
}

Status operand_types(const CutlassRequest& request) {
  const bool scaled = block_scaled(request.a) && block_scaled(request.b);
  const bool plain = request.a == request.b && !block_scaled(request.a);
  if (scaled || plain) return {};
  return not_covered(request, operands_of(request),
                     "pairs of block-scaled operands, fp8 x fp8, and the errors of bf16 and fp16");
}

Status outputs(const CutlassRequest& request) {
  const std::string c_and_d = fmt::format("C of {} and D of {}", to_string(request.c), to_string(request.d));
  switch (request.fusion) {
    case CutlassFusion::linear_combination:
      if (request.d != CutlassElement::none) return {};
      return not_covered(request, "a plain epilogue without D", "a D of any type, and finalize with a void D");
    case CutlassFusion::finalize: {
      const bool output = request.d == CutlassElement::none && request.c != CutlassElement::e2m1;
      if (request.grouped && output) return {};
      return not_covered(
          request,
          (request.grouped ? "finalize in a grouped kernel with " : "finalize in a dense kernel with ") + c_and_d,
          "grouped kernels with a D of void and a C of 8 bits or more, or void");
    }
    case CutlassFusion::scale_factor_d:
      if (request.d == CutlassElement::e2m1 && !request.swap_ab) return {};
      return not_covered(request, "scale factors for " + c_and_d, "a row-major D of e2m1");
  }
  return {};
}

}  // namespace

Status sm120_operands_covered(const CutlassRequest& request) {
  TILEWRIGHT_TRY(operand_types(request));
  return outputs(request);
}

Status sm120_tile_covered(const CutlassRequest& request) {
  const CutlassTile& tile = request.tile;
  const bool scaled = block_scaled(request.a);
  const bool m = one_of(tile.m, {64, 128, 256});
  const bool n = scaled ? one_of(tile.n, {8, 16, 32, 64, 128, 256}) : one_of(tile.n, {16, 32, 64, 128, 256});
  const bool k = one_of(tile.k, {64, 128, 256, 512}) || (!scaled && tile.k == 32);
  if (m && n && k) return {};
  return not_covered(request, fmt::format("a tile of {}x{}x{} with {}", tile.m, tile.n, tile.k, operands_of(request)),
                     scaled ? "M of 64, 128, 256; N of 8, 16, 32, 64, 128, 256; K of 64, 128, 256, 512"
                            : "M of 64, 128, 256; N of 16, 32, 64, 128, 256; K of 32, 64, 128, 256, 512");
}

}  // namespace tilewright::schedule::cutlass
