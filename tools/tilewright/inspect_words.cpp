// A kernel in one line, and the command that explains it.
#include <fmt/format.h>

#include "schedule/cutlass/flashinfer.hpp"
#include "schedule/cutlass/tags.hpp"
#include "tools/tilewright/inspect_binary.hpp"

namespace tilewright::cli {
namespace {

const char* warps_word(CutlassWarps warps) {
  switch (warps) {
    case CutlassWarps::cooperative: return "cooperative";
    case CutlassWarps::pingpong: return "pingpong";
    case CutlassWarps::one_sm: return "1sm";
    case CutlassWarps::two_sm: return "2sm";
    case CutlassWarps::tma_warp_specialized: return "warp-specialized";
    case CutlassWarps::automatic: break;
  }
  return "";
}

std::string cutlass_words(const CutlassKernelName& name) {
  std::string words = fmt::format("{} {} {}", to_string(name.arch), name.grouped ? "grouped" : "dense",
                                  name.a == name.b ? name.a : name.a + " x " + name.b);
  const auto add = [&](const std::string& word) {
    if (!word.empty()) words += ", " + word;
  };
  if (name.tile.m == 0) {
    add(name.policy);  // a mainloop of somebody's own: its class is all that is known
    return words;
  }
  add(fmt::format("{}x{}x{}", name.tile.m, name.tile.n, name.tile.k));
  if (name.cluster_m > 1 || name.cluster_n > 1) add(fmt::format("cluster {}x{}", name.cluster_m, name.cluster_n));
  if (name.stages > 0) {
    add(name.scale_stages > 0 ? fmt::format("{}+{} stages", name.stages, name.scale_stages)
                              : fmt::format("{} stages", name.stages));
  }
  add(warps_word(name.warps));
  add(name.finalize ? "finalize" : name.fusion == "LinearCombination" ? "" : name.fusion);
  if (name.swap_ab) add("swap-AB");
  if (!name.c.empty()) add(fmt::format("C {}, D {}", name.c, name.d));
  add(name.scheduler);
  return words;
}

// The types that explain would not assume by itself.
std::string type_flags(const CutlassRequest& request) {
  const bool finalize = request.fusion == CutlassFusion::finalize;
  const CutlassElement assumed_out =
      request.fusion == CutlassFusion::scale_factor_d ? CutlassElement::e2m1 : CutlassElement::bf16;
  const CutlassElement out = finalize ? assumed_out : request.d;
  const CutlassElement assumed_c = kernel_arch(request.arch) == Arch::sm_120 ? out : CutlassElement::none;
  std::string flags;
  if (out != assumed_out) flags += fmt::format(" --out {}", to_string(out));
  if (request.c != assumed_c) flags += fmt::format(" --c {}", to_string(request.c));
  return flags;
}

std::string cluster_flag(const CutlassRequest& request) {
  if (request.cluster_m == 0) return " --cluster dynamic";
  const bool pair_assumed = schedule::cutlass::is_sm10x(request.arch) && request.tile.m == 256;
  if (request.cluster_m == 1 && request.cluster_n == 1 && !pair_assumed) return {};
  return fmt::format(" --cluster {}x{}", request.cluster_m, request.cluster_n);
}

std::string epilogue_flags(const CutlassRequest& request) {
  std::string words;
  if (request.fusion == CutlassFusion::finalize) words = "finalize";
  if (request.fusion == CutlassFusion::scale_factor_d) words = "scale-factor";
  if (request.epilogue_schedule.warps == CutlassEpilogueWarps::no_smem) words += words.empty() ? "nosmem" : ",nosmem";
  return words.empty() ? words : " --epilogue " + words;
}

// SM120's Auto is Cooperative, and explain assumes Auto there.
std::string schedule_flag(const CutlassRequest& request) {
  const bool assumed = kernel_arch(request.arch) == Arch::sm_120 && request.schedule.warps != CutlassWarps::pingpong &&
                       !(request.grouped && request.a == CutlassOperand::fp8);
  if (assumed || request.schedule == CutlassSchedule{}) return {};
  return " --schedule " + schedule::cutlass::tag_name(request.schedule);
}

}  // namespace

std::string kernel_words(const KernelName& name) {
  return name.cutlass && name.family != KernelFamily::other ? cutlass_words(*name.cutlass) : name.text;
}

std::string explain_command(const CutlassKernelName& name) {
  const auto kernel = cutlass_storage(name);
  if (!kernel) return {};
  const CutlassRequest& request = kernel->request;
  std::string dtype = to_string(request.a);
  if (request.a != request.b) dtype += fmt::format("x{}", to_string(request.b));
  std::string command = fmt::format("tilewright explain --cutlass --arch {}{}", to_string(request.arch),
                                    request.grouped ? " --grouped" : "");
  if (dtype != "nvfp4") command += " --dtype " + dtype;
  command += fmt::format(" --tile {}x{}x{}", request.tile.m, request.tile.n, request.tile.k);
  command += cluster_flag(request) + epilogue_flags(request) + type_flags(request) + schedule_flag(request);
  if (request.swap_ab) command += " --swap-ab";
  // The launcher has an epilogue tile of its own on SM100, so there the builder's has to be said too.
  const bool tile_assumed = request.arch == Arch::sm_100 && request.grouped && request.tile.n == 256;
  if ((request.epilogue_tile_m || tile_assumed) && kernel->epilogue_tile_m > 0) {
    command += fmt::format(" --epilogue-tile {}x{}", kernel->epilogue_tile_m, kernel->epilogue_tile_n);
  }
  if (request.stages.rule == CutlassStageRule::explicit_count)
    command += fmt::format(" --stages {}", request.stages.count);
  return command;
}

}  // namespace tilewright::cli
