// The template arguments of a kernel, as C++: what CUTLASS's examples and FlashInfer's launcher write by hand.
#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "schedule/cutlass/elements.hpp"
#include "schedule/cutlass/flashinfer.hpp"
#include "schedule/cutlass/render_words.hpp"
#include "schedule/cutlass/tags.hpp"
#include "schedule/format.hpp"
#include "tilewright/cutlass_render.hpp"

namespace tilewright {
namespace {

namespace cutlass = schedule::cutlass;
using schedule::grouped;

constexpr int kTmaBits = 128;          // a TMA copy moves whole 16-byte units
constexpr int kNoSmemStoreBits = 256;  // SM100's epilogue without shared memory stores this much at a time
constexpr int kMixedAlignment = 128;   // elements of a 4-bit operand that TMA unpacks beside an 8-bit one

std::string cpp(CutlassElement element) {
  switch (element) {
    case CutlassElement::none: return "void";
    case CutlassElement::e2m1: return "cutlass::float_e2m1_t";
    case CutlassElement::e4m3: return "cutlass::float_e4m3_t";
    case CutlassElement::e5m2: return "cutlass::float_e5m2_t";
    case CutlassElement::f16: return "cutlass::half_t";
    case CutlassElement::bf16: return "cutlass::bfloat16_t";
    case CutlassElement::f32: return "float";
  }
  return "void";
}

// A value type, its scale type and the name of the two together.
struct BlockScaled {
  const char* pair;
  const char* value;
  const char* scale;
};

std::string cpp(CutlassOperand operand, Arch arch) {
  const auto pair = [&](const BlockScaled& names) {
    // SM103's builder takes the pair as a tuple, the others by its name.
    if (arch == Arch::sm_103) return fmt::format("cute::tuple<cutlass::{}, cutlass::{}>", names.value, names.scale);
    return fmt::format("cutlass::{}<cutlass::{}>", names.pair, names.value);
  };
  switch (operand) {
    case CutlassOperand::nvfp4: return pair({"nv_float4_t", "float_e2m1_t", "float_ue4m3_t"});
    case CutlassOperand::mxfp4: return pair({"mx_float4_t", "float_e2m1_t", "float_ue8m0_t"});
    case CutlassOperand::mxfp8: return pair({"mx_float8_t", "float_e4m3_t", "float_ue8m0_t"});
    case CutlassOperand::fp8: return "cutlass::float_e4m3_t";
    case CutlassOperand::bf16: return "cutlass::bfloat16_t";
    case CutlassOperand::fp16: break;
  }
  return "cutlass::half_t";
}

int alignment(const CutlassRequest& request, CutlassOperand operand) {
  const bool mixed = cutlass::bits(request.a) != cutlass::bits(request.b);
  return mixed && cutlass::bits(operand) == 4 ? kMixedAlignment : kTmaBits / cutlass::bits(operand);
}

std::string shape(std::initializer_list<int> sizes) {
  std::string text;
  for (const int size : sizes) {
    text += text.empty() ? "" : ", ";
    text += size == 0 ? "int" : fmt::format("cute::Int<{}>", size);
  }
  return "cute::Shape<" + text + ">";
}

std::string mainloop_tag(const CutlassRequest& request) {
  const bool automatic = request.schedule.warps == CutlassWarps::automatic;
  return (automatic ? "cutlass::gemm::collective::" : "cutlass::gemm::") + cutlass::tag_name(request.schedule);
}

std::string epilogue_tag(const CutlassRequest& request) {
  const bool automatic = request.epilogue_schedule.warps == CutlassEpilogueWarps::automatic;
  return (automatic ? "cutlass::epilogue::collective::" : "cutlass::epilogue::") +
         cutlass::tag_name(request.epilogue_schedule);
}

std::string stage_count(const CutlassRequest& request) {
  const CutlassStages& stages = request.stages;
  if (stages.rule != CutlassStageRule::carveout || stages.carveout_bytes) {
    return "cutlass::gemm::collective::" + cutlass::stage_rule(stages);
  }
  return "cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(sizeof(typename "
         "Epilogue::SharedStorage))>";
}

std::string epilogue_tile(const CutlassRequest& request) {
  if (!request.epilogue_tile_m) return "cutlass::epilogue::collective::EpilogueTileAuto";
  return shape({*request.epilogue_tile_m, *request.epilogue_tile_n});
}

// Empty for the builder's own: D = alpha * acc + beta * C.
std::string fusion(const CutlassRequest& request, CutlassElement output) {
  switch (request.fusion) {
    case CutlassFusion::linear_combination: return {};
    case CutlassFusion::finalize:
      return fmt::format(
          "cutlass::epilogue::fusion::ScaledAcc{}Scatter<std::remove_pointer_t<LayoutD>, {}, float, {}, float>",
          request.swap_ab ? "PerRowBiasPerColScale" : "PerColBiasPerRowScale", cpp(output), cpp(output));
    case CutlassFusion::scale_factor_d: break;
  }
  return "cutlass::epilogue::fusion::LinCombBlockScaleFactor<16, ElementD, float, cutlass::float_ue4m3_t, "
         "std::remove_pointer_t<LayoutD>, ElementC>";
}

// One alias of the struct; `was` is what it was before the change.
struct Alias {
  std::string name;
  std::string value;
  bool number = false;
};

std::vector<Alias> aliases(const CutlassRequest& request, CutlassElement output) {
  const char* const star = request.grouped ? "*" : "";
  const char* const operation = cutlass::block_scaled(request.a) ? "BlockScaledTensorOp" : "TensorOp";
  const std::string layout_c = fmt::format("cutlass::layout::{}{}", request.swap_ab ? "ColumnMajor" : "RowMajor", star);
  const bool wide = request.epilogue_schedule.warps == CutlassEpilogueWarps::no_smem && cutlass::is_sm10x(request.arch);
  const int access = wide ? kNoSmemStoreBits : kTmaBits;
  const int bits_d = request.d == CutlassElement::none ? cutlass::bits(output) : cutlass::bits(request.d);
  const int bits_c = request.c == CutlassElement::none ? bits_d : cutlass::bits(request.c);
  std::string arch = to_string(kernel_arch(request.arch));
  arch.replace(0, 3, "Sm");
  std::vector<Alias> list = {
      {"ArchTag", "cutlass::arch::" + arch},
      {"OpClass", fmt::format("cutlass::arch::OpClass{}", operation)},
      {"ProblemShape", request.grouped ? "cutlass::gemm::GroupProblemShape<cute::Shape<int, int, int>>"
                                       : "cute::Shape<int, int, int, int>"},
      {"ElementA", cpp(request.a, request.arch)},
      {"LayoutA", fmt::format("cutlass::layout::RowMajor{}", star)},
      {"kAlignA", std::to_string(alignment(request, request.a)), true},
      {"ElementB", cpp(request.b, request.arch)},
      {"LayoutB", fmt::format("cutlass::layout::ColumnMajor{}", star)},
      {"kAlignB", std::to_string(alignment(request, request.b)), true},
      {"ElementC", cpp(request.c)},
      {"LayoutC", layout_c},
      {"kAlignC", std::to_string(access / bits_c), true},
      {"ElementD", cpp(request.d)},
      {"LayoutD", layout_c},
      {"kAlignD", std::to_string(access / bits_d), true},
      {"TileShape", shape({request.tile.m, request.tile.n, request.tile.k})},
      {"ClusterShape", shape({request.cluster_m, request.cluster_n, 1})},
      {"EpilogueTile", epilogue_tile(request)},
      {"EpilogueSchedule", epilogue_tag(request)},
      {"KernelSchedule", mainloop_tag(request)},
  };
  if (const std::string op = fusion(request, output); !op.empty()) list.push_back({"FusionOp", op});
  return list;
}

std::string aliases_text(const CutlassRequest& original, const CutlassRequest& mended, CutlassElement output) {
  const std::vector<Alias> before = aliases(original, output);
  std::string text;
  for (const Alias& alias : aliases(mended, output)) {
    std::string line = alias.number ? fmt::format("  static constexpr int {} = {};", alias.name, alias.value)
                                    : fmt::format("  using {} = {};", alias.name, alias.value);
    for (const Alias& old : before) {
      if (old.name == alias.name && old.value != alias.value) line += "  // was " + old.value;
    }
    text += line + "\n";
  }
  const std::string stages = stage_count(mended);
  const std::string was = stage_count(original);
  text += "  template <class Epilogue>\n";
  text += fmt::format("  using StageCount = {};{}\n", stages, stages == was ? "" : "  // was " + was);
  return text;
}

std::string heading(const CutlassRequest& original, const CutlassKernel& mended) {
  std::string text = fmt::format("// {}\n", cutlass::title(mended.request));
  text += fmt::format("// {} stages, {} B of shared memory, of {} B that a block may have.\n", mended.stages,
                      grouped(mended.total), grouped(mended.limit));
  if (const auto candidate = flashinfer_candidate(original)) {
    text += fmt::format("// In the place of {} {}, K in bytes: {} of FlashInfer, TensorRT-LLM.\n", candidate->name,
                        candidate->variant, candidate->list);
  }
  text += "#pragma once\n\n#include <type_traits>\n\n#include <cute/tensor.hpp>\n";
  for (const char* const header :
       {"cutlass/cutlass.h", "cutlass/epilogue/collective/collective_builder.hpp",
        "cutlass/gemm/collective/collective_builder.hpp", "cutlass/gemm/kernel/gemm_universal.hpp"}) {
    text += fmt::format("#include <{}>\n", header);
  }
  if (mended.request.fusion == CutlassFusion::finalize) {
    text +=
        "// FlashInfer csrc/nv_internal/tensorrt_llm/cutlass_extensions/include; the same file is in TensorRT-LLM.\n";
    text += "#include \"cutlass_extensions/epilogue/fusion/sm90_visitor_scatter.hpp\"\n";
  }
  return text;
}

}  // namespace

Result<std::string> emit_cutlass(const CutlassRequest& original, const CutlassKernel& mended, CutlassElement output) {
  const CutlassRequest& request = mended.request;
  if (mended.error) {
    return fail(ErrorCode::invalid_argument, fmt::format("nothing to emit: the kernel {}", cutlass::verdict(mended)),
                mended.error->remedy);
  }
  const CutlassElement stored = output == CutlassElement::none ? CutlassElement::bf16 : output;
  std::string text = heading(original, mended) + "\nstruct Gemm {\n" + aliases_text(original, request, stored);
  const bool fused = request.fusion != CutlassFusion::linear_combination;
  text += fmt::format(
      "\n"
      "  using CollectiveEpilogue = typename cutlass::epilogue::collective::CollectiveBuilder<\n"
      "      ArchTag, OpClass, TileShape, ClusterShape, EpilogueTile, float, float, ElementC, LayoutC, kAlignC,\n"
      "      ElementD, LayoutD, kAlignD, EpilogueSchedule{}>::CollectiveOp;\n"
      "  using CollectiveMainloop = typename cutlass::gemm::collective::CollectiveBuilder<\n"
      "      ArchTag, OpClass, ElementA, LayoutA, kAlignA, ElementB, LayoutB, kAlignB, float, TileShape, "
      "ClusterShape,\n"
      "      StageCount<CollectiveEpilogue>, KernelSchedule>::CollectiveOp;\n"
      "  using GemmKernel =\n"
      "      cutlass::gemm::kernel::GemmUniversal<ProblemShape, CollectiveMainloop, CollectiveEpilogue, void, void>;\n"
      "}};\n\n"
      "static_assert(sizeof(typename Gemm::GemmKernel::SharedStorage) == {}, \"the kernel is not the one "
      "explained\");\n",
      fused ? ", FusionOp" : "", mended.total);
  return text;
}

}  // namespace tilewright
