// Where the fields stand: CollectiveMma in cutlass/gemm/collective/collective_mma_decl.hpp, the policies in
// cutlass/gemm/dispatch_policy.hpp and cutlass/epilogue/dispatch_policy.hpp, CollectiveEpilogue in
// cutlass/epilogue/collective/sm90_epilogue_tma_warpspecialized.hpp, sm100_epilogue_*.hpp and default_epilogue*.hpp.
#include "inspect/kernel_name_cutlass.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tilewright::inspect {
namespace {

bool starts_with(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }
bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

constexpr int kTextLimit = 200;  // of a type that has no short word

// cute::C<N>, or a plain literal; 0 for a type that is a run-time value.
int extent(const NameNode& node) {
  const NameNode& value = node.is("C") ? node.arg(0) : node;
  const std::int64_t number = value.integer().value_or(0);
  return number > 0 && number <= 1'000'000 ? static_cast<int>(number) : 0;
}

// Elements along one side of an epilogue tile: a number, or a Layout whose shape is a number or a tuple of them.
int layout_extent(const NameNode& node) {
  if (!node.is("Layout")) return extent(node);
  const NameNode& shape = node.arg(0);
  if (!shape.is("tuple")) return extent(shape);
  std::int64_t product = 1;
  for (const NameNode* mode : shape.args) product = std::min<std::int64_t>(product * extent(*mode), 1'000'000);
  return static_cast<int>(product);
}

CutlassTile tile_of(const NameNode& tuple) {
  return {extent(tuple.arg(0)), extent(tuple.arg(1)), extent(tuple.arg(2))};
}

Arch arch_of_policy(std::string_view policy) {
  if (contains(policy, "Sm103")) return Arch::sm_103;
  if (contains(policy, "Sm100")) return Arch::sm_100;
  if (contains(policy, "Sm120")) return Arch::sm_120;
  return Arch::sm_90;
}

CutlassWarps warps_of_tag(std::string_view tag) {
  if (tag.empty()) return CutlassWarps::automatic;
  if (contains(tag, "Cooperative")) return CutlassWarps::cooperative;
  if (contains(tag, "Pingpong")) return CutlassWarps::pingpong;
  if (contains(tag, "2Sm")) return CutlassWarps::two_sm;
  if (contains(tag, "1Sm")) return CutlassWarps::one_sm;
  return CutlassWarps::tma_warp_specialized;
}

// SM100's policies do not say how many CTAs share an MMA; its instruction does ("SM100_MMA_MXF4_2x1SM_SS").
CutlassWarps warps_of_atom(const NameNode& tiled_mma) {
  const NameNode& atom = tiled_mma.arg(0).arg(0);
  if (contains(atom.name, "2x1SM")) return CutlassWarps::two_sm;
  return starts_with(atom.name, "SM100_") || starts_with(atom.name, "SM103_") ? CutlassWarps::one_sm
                                                                              : CutlassWarps::automatic;
}

// The counts of a policy, before its cluster: SM90 <stages>, SM100 <stages, scheduler, accumulator>, SM103 <stages,
// scale factors, scheduler, accumulator>, SM120 <stages, scheduler>.
void read_counts(const NameNode& policy, CutlassKernelName& name) {
  std::size_t next = 0;
  const auto count = [&] { return extent(policy.arg(next++)); };
  name.stages = count();
  if (name.arch == Arch::sm_90) return;
  if (name.arch == Arch::sm_103) name.scale_stages = count();
  name.scheduler_stages = count();
  if (name.arch != Arch::sm_120) name.accumulator_stages = count();
}

// After the counts a policy has the cluster, its only tuple, and the schedule's tag or the architecture's.
void read_policy(const NameNode& policy, CutlassKernelName& name) {
  name.policy = policy.name;
  name.arch = arch_of_policy(policy.name);
  read_counts(policy, name);
  if (name.arch == Arch::sm_100) name.policy_has_arch = false;
  for (std::size_t i = 1; i < policy.args.size(); ++i) {
    const NameNode& arg = policy.arg(i);
    if (name.policy_has_arch && arg.is("Sm100")) name.policy_has_arch = true;
    if (arg.is("tuple")) {
      name.cluster_m = extent(arg.arg(0));
      name.cluster_n = extent(arg.arg(1));
    } else if (arg.kind == NodeKind::name && starts_with(arg.name, "Kernel")) {
      name.schedule = written(arg, kTextLimit);
      name.schedule = name.schedule.substr(name.schedule.rfind("Kernel"));
      name.warps = warps_of_tag(arg.name);
    }
  }
}

void read_mainloop(const NameNode& mainloop, CutlassKernelName& name) {
  const NameNode& policy = mainloop.arg(0);
  if (policy.kind != NodeKind::name || !starts_with(policy.name, "Mainloop")) {
    name.policy = mainloop.name;  // somebody's own mainloop, whose arguments follow rules of its own
    return;
  }
  read_policy(policy, name);
  name.tile = tile_of(mainloop.arg(1));
  name.a = operand_word(mainloop.arg(2));
  name.b = operand_word(mainloop.arg(4));
  if (name.warps == CutlassWarps::automatic) name.warps = warps_of_atom(mainloop.arg(6));
}

// A stride tuple<1, long, ...>: the first mode is contiguous. Of a grouped kernel it stands behind a pointer.
bool column_major(const NameNode& stride) {
  const NameNode& tuple = stride.kind == NodeKind::modified ? stride.arg(0) : stride;
  return extent(tuple.arg(0)) == 1 && extent(tuple.arg(1)) == 0;
}

bool is_finalize(std::string_view fusion) {
  return starts_with(fusion, "ScaledAccPer") && contains(fusion, "ScaleScatter");
}

// FusionCallbacks<policy, operation, ...>, or a visitor tree in its place.
void read_fusion(const NameNode& callbacks, CutlassKernelName& name) {
  const NameNode& operation = callbacks.is("FusionCallbacks") ? callbacks.arg(1) : callbacks;
  name.fusion = operation.name;
  name.finalize = is_finalize(operation.name);
}

// Wrappers around the default epilogue, which keeps nothing in shared memory.
const NameNode& unwrapped(const NameNode& epilogue) {
  const NameNode* inner = &epilogue;
  for (int i = 0; i < 4 && contains(inner->name, "Adapter"); ++i) inner = &inner->arg(0);
  return *inner;
}

void read_epilogue(const NameNode& wrapped, CutlassKernelName& name) {
  const NameNode& epilogue = unwrapped(wrapped);
  const NameNode& policy = epilogue.arg(0);
  if (!epilogue.is("CollectiveEpilogue") || policy.kind != NodeKind::name) {
    name.epilogue = epilogue.name;  // DefaultEpilogue, DefaultEpilogueArray
    return;
  }
  name.epilogue = policy.name;
  if (contains(policy.name, "NoSmem")) {  // <policy, epilogue tile, C, stride, D, stride, ...>
    name.epilogue_tile_m = layout_extent(epilogue.arg(1).arg(0));
    name.epilogue_tile_n = layout_extent(epilogue.arg(1).arg(1));
    name.c = element_word(epilogue.arg(2));
    name.d = element_word(epilogue.arg(4));
    name.swap_ab = column_major(epilogue.arg(5));
    name.fusion = epilogue.arg(6).name;
    return;
  }
  // <policy, CTA tile, epilogue tile, C, stride, D, stride, fusion, ...>
  name.stages_c = extent(policy.arg(0));
  name.stages_d = extent(policy.arg(1));
  name.epilogue_tile_m = layout_extent(epilogue.arg(2).arg(0));
  name.epilogue_tile_n = layout_extent(epilogue.arg(2).arg(1));
  name.c = element_word(epilogue.arg(3));
  name.d = element_word(epilogue.arg(5));
  name.swap_ab = column_major(epilogue.arg(6));
  read_fusion(epilogue.arg(7), name);
}

bool is_grouped(const NameNode& problem, std::string_view policy) {
  return contains(problem.name, "GroupProblemShape") || contains(problem.name, "MoEProblemShape") ||
         contains(policy, "Array");
}

// The tile scheduler's tag; the two that mean the default one are left out.
std::string scheduler_of(const NameNode& tag) {
  if (tag.kind != NodeKind::name || tag.is("void") || tag.is("PersistentScheduler") || tag.is("GroupScheduler"))
    return {};
  return std::string(tag.name);
}

}  // namespace

std::string element_word(const NameNode& type) {
  static constexpr std::array<std::pair<std::string_view, const char*>, 16> kWords = {
      {{"float_e2m1_t", "e2m1"},
       {"float_e2m1_unpacksmem_t", "e2m1"},
       {"float_e4m3_t", "e4m3"},
       {"float_e5m2_t", "e5m2"},
       {"float_e2m3_t", "e2m3"},
       {"float_e3m2_t", "e3m2"},
       {"half_t", "f16"},
       {"bfloat16_t", "bf16"},
       {"tfloat32_t", "tf32"},
       {"float", "f32"},
       {"double", "f64"},
       {"void", "void"},
       {"signed char", "s8"},
       {"unsigned char", "u8"},
       {"int", "s32"},
       {"type_erased_dynamic_float4_t", "fp4 chosen at run time"}}};
  if (type.kind == NodeKind::modified && type.name == " const") return element_word(type.arg(0));
  if (type.kind == NodeKind::name) {
    for (const auto& [name, word] : kWords) {
      if (type.is(name)) return word;
    }
    if (type.is("integer_subbyte")) return fmt::format("{}{}", type.arg(1).name == "0" ? 'u' : 's', type.arg(0).name);
  }
  return written(type, kTextLimit);
}

std::string operand_word(const NameNode& type) {
  if (!type.is("tuple") || type.args.size() < 2) {
    return type.is("float_e4m3_t") ? "fp8" : element_word(type);
  }
  const std::string value = element_word(type.arg(0));
  const NameNode& scale = type.arg(1);
  if (value == "e2m1" && scale.is("float_ue4m3_t")) return "nvfp4";
  if (value == "e2m1" && scale.is("float_ue8m0_t")) return "mxfp4";
  if (value == "e4m3" && scale.is("float_ue8m0_t")) return "mxfp8";
  return value + " with scales " + element_word(scale);
}

const NameNode* gemm_universal(const NameNode& function) {
  if (!function.is("device_kernel") || function.args.empty()) return nullptr;
  const NameNode* type = &function.arg(0);
  for (int wrappers = 0; wrappers < 4 && type->kind == NodeKind::name; ++wrappers) {
    if (type->is("GemmUniversal") || type->is("GemmUniversalGated")) {
      // The 2.x class of that name has its threadblock-level mainloop there.
      return starts_with(type->arg(1).name, "Collective") || contains(type->arg(1).name, "CollectiveMma") ? type
                                                                                                          : nullptr;
    }
    type = &type->arg(0);
  }
  return nullptr;
}

CutlassKernelName read_gemm(const NameNode& gemm) {
  CutlassKernelName name;
  read_mainloop(gemm.arg(1), name);
  read_epilogue(gemm.arg(2), name);
  name.grouped = is_grouped(gemm.arg(0), name.policy);
  name.scheduler = scheduler_of(gemm.arg(3));
  return name;
}

}  // namespace tilewright::inspect
