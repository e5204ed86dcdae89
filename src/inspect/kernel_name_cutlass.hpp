// Reading the type of a CUTLASS 3.x kernel from the tree of its name.
#pragma once

#include <optional>

#include "inspect/kernel_name_tree.hpp"
#include "tilewright/kernel_name.hpp"

namespace tilewright::inspect {

/// GemmUniversal<ProblemShape, CollectiveMma, CollectiveEpilogue, ...> of a device_kernel, also inside a wrapper that
/// derives from it (enable_sm120_family<GemmUniversal<...>>); nullptr where the name is no 3.x GEMM.
const NameNode* gemm_universal(const NameNode& function);

/// What the type states. Everything of `request` is filled in but its coverage: see request_of.
CutlassKernelName read_gemm(const NameNode& gemm);

/// Short words for element types: "nvfp4" of tuple<float_e2m1_t, float_ue4m3_t>, "bf16", "s8", "void"; the type as
/// written where there is none.
std::string operand_word(const NameNode& type);
std::string element_word(const NameNode& type);

/// The oracle's request for a type's name, with its stages and its epilogue tile, or why there is none.
Result<CutlassRequest> request_of(const CutlassKernelName& name);

/// The same without what only a type states: stages and epilogue are left to the builders' rules.
Result<CutlassRequest> stated_request(const CutlassKernelName& name);

}  // namespace tilewright::inspect
