// What FlashInfer and TensorRT-LLM ask CUTLASS for: the launcher's types, and the tiles of the candidate lists.
#pragma once

#include <cstdint>

#include "tilewright/cutlass_render.hpp"

namespace tilewright::schedule::cutlass {

/// The operand that carries activations: A, or B where the operands are swapped.
constexpr CutlassOperand activation(const CutlassRequest& request) { return request.swap_ab ? request.b : request.a; }
constexpr CutlassOperand weight(const CutlassRequest& request) { return request.swap_ab ? request.a : request.b; }

/// Whether both operands are FP4 with block scales.
constexpr bool is_fp4(const CutlassRequest& request) {
  const auto fp4 = [](CutlassOperand o) { return o == CutlassOperand::nvfp4 || o == CutlassOperand::mxfp4; };
  return fp4(request.a) && fp4(request.b);
}

constexpr bool is_sm10x(Arch arch) { return arch == Arch::sm_100 || arch == Arch::sm_103; }

/// Whether a request is of two CTAs that share one MMA: by its tag, or by what the tag leaves to the cluster.
bool is_two_sm(const CutlassRequest& request);

/// The launcher's tag for a request: its `warps`, with the family, the array and the architecture that go with them.
/// `warps` other than automatic are kept, so that `--schedule pingpong` gets the tag that the builder takes.
CutlassSchedule launcher_schedule(const CutlassRequest& request, CutlassWarps warps);

/// The launcher's epilogue tag for a request whose mainloop schedule is set.
CutlassEpilogueSchedule launcher_epilogue(const CutlassRequest& request, bool no_smem);

}  // namespace tilewright::schedule::cutlass
