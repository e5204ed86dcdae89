// From what a name states to what the oracle is asked, and the check of its answer against the name.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "inspect/kernel_name_cutlass.hpp"
#include "schedule/cutlass/flashinfer.hpp"

namespace tilewright {
namespace inspect {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

tl::unexpected<Error> not_covered(const std::string& what) {
  return fail(ErrorCode::unsupported, "the storage of " + what + " is not modelled");
}

std::optional<CutlassOperand> operand_of(const std::string& word) {
  static constexpr std::array<std::pair<std::string_view, CutlassOperand>, 6> kOperands = {
      {{"nvfp4", CutlassOperand::nvfp4},
       {"mxfp4", CutlassOperand::mxfp4},
       {"mxfp8", CutlassOperand::mxfp8},
       {"fp8", CutlassOperand::fp8},
       {"bf16", CutlassOperand::bf16},
       {"f16", CutlassOperand::fp16}}};
  for (const auto& [name, operand] : kOperands) {
    if (name == word) return operand;
  }
  return std::nullopt;
}

std::optional<CutlassElement> element_of(const std::string& word) {
  static constexpr std::array<std::pair<std::string_view, CutlassElement>, 7> kElements = {
      {{"void", CutlassElement::none},
       {"e2m1", CutlassElement::e2m1},
       {"e4m3", CutlassElement::e4m3},
       {"e5m2", CutlassElement::e5m2},
       {"f16", CutlassElement::f16},
       {"bf16", CutlassElement::bf16},
       {"f32", CutlassElement::f32}}};
  for (const auto& [name, element] : kElements) {
    if (name == word) return element;
  }
  return std::nullopt;
}

// The policies whose mainloop the oracle knows: one family an architecture, dense and grouped.
bool known_policy(const CutlassKernelName& name) {
  static constexpr std::array<std::string_view, 14> kPolicies = {"MainloopSm90TmaGmmaWarpSpecialized",
                                                                 "MainloopSm90TmaGmmaWarpSpecializedFP8",
                                                                 "MainloopSm90ArrayTmaGmmaWarpSpecialized",
                                                                 "MainloopSm90ArrayTmaGmmaWarpSpecializedFP8",
                                                                 "MainloopSm100TmaUmmaWarpSpecialized",
                                                                 "MainloopSm100ArrayTmaUmmaWarpSpecialized",
                                                                 "MainloopSm100TmaUmmaWarpSpecializedBlockScaled",
                                                                 "MainloopSm100ArrayTmaUmmaWarpSpecializedBlockScaled",
                                                                 "MainloopSm103TmaUmmaWarpSpecializedBlockScaled",
                                                                 "MainloopSm103ArrayTmaUmmaWarpSpecializedBlockScaled",
                                                                 "MainloopSm120TmaWarpSpecialized",
                                                                 "MainloopSm120ArrayTmaWarpSpecialized",
                                                                 "MainloopSm120TmaWarpSpecializedBlockScaled",
                                                                 "MainloopSm120ArrayTmaWarpSpecializedBlockScaled"};
  return std::find(kPolicies.begin(), kPolicies.end(), name.policy) != kPolicies.end();
}

Result<CutlassFusion> fusion_of(const CutlassKernelName& name) {
  // An epilogue without shared memory has no fusion that keeps anything there.
  if (name.fusion == "LinearCombination" || contains(name.epilogue, "NoSmem")) return CutlassFusion::linear_combination;
  if (name.finalize) return CutlassFusion::finalize;
  if (name.fusion == "LinCombBlockScaleFactor") return CutlassFusion::scale_factor_d;
  return not_covered("the epilogue fusion " + name.fusion);
}

// The tag is rebuilt from what the policy keeps of it; the types that follow from it are compared afterwards.
CutlassSchedule schedule_of(const CutlassKernelName& name, const CutlassRequest& request) {
  if (name.warps == CutlassWarps::automatic && !name.grouped) return {};
  CutlassSchedule tag = schedule::cutlass::launcher_schedule(request, name.warps);
  if (name.arch == Arch::sm_90) {
    tag.family = contains(name.schedule, "FP8FastAccum") ? CutlassTagFamily::fp8_fast_accum : CutlassTagFamily::none;
  }
  return tag;
}

bool no_smem_epilogue(const CutlassKernelName& name) {
  return contains(name.epilogue, "NoSmem") || contains(name.epilogue, "DefaultEpilogue");
}

}  // namespace

Result<CutlassRequest> request_of(const CutlassKernelName& name) {
  if (!known_policy(name)) return not_covered("the mainloop " + name.policy);
  if (name.stages == 0) return not_covered("a policy without a stage count");
  TILEWRIGHT_ASSIGN(CutlassRequest request, stated_request(name));
  // SM103's builder takes no StageCount: its two counts come from the carve-out, and are compared afterwards.
  if (name.arch != Arch::sm_103) request.stages = {CutlassStageRule::explicit_count, name.stages, std::nullopt};
  request.epilogue_schedule = schedule::cutlass::launcher_epilogue(request, no_smem_epilogue(name));
  if (name.epilogue_tile_m > 0 && !no_smem_epilogue(name)) {
    request.epilogue_tile_m = name.epilogue_tile_m;
    request.epilogue_tile_n = name.epilogue_tile_n;
  }
  return request;
}

Result<CutlassRequest> stated_request(const CutlassKernelName& name) {
  if (!name.scheduler.empty()) return not_covered("the tile scheduler " + name.scheduler);
  const auto a = operand_of(name.a);
  const auto b = operand_of(name.b);
  if (!a || !b) return not_covered(fmt::format("operands {} and {}", name.a, name.b));
  CutlassRequest request;
  request.arch = name.arch;
  request.grouped = name.grouped;
  request.a = *a;
  request.b = *b;
  request.tile = name.tile;
  request.cluster_m = name.cluster_m;
  request.cluster_n = name.cluster_n;
  request.swap_ab = name.swap_ab;
  TILEWRIGHT_ASSIGN(request.fusion, fusion_of(name));
  request.schedule = schedule_of(name, request);
  // The default epilogue keeps C's and D's types elsewhere, and nothing in shared memory.
  const auto c = element_of(name.c.empty() ? "void" : name.c);
  const auto d = element_of(name.d.empty() ? "bf16" : name.d);
  if (!c || !d) return not_covered(fmt::format("C of {} and D of {}", name.c, name.d));
  request.c = *c;
  request.d = *d;
  return request;
}

namespace {

constexpr std::array<CutlassVersion, 5> kVersions = {CutlassVersion::v4_7_0, CutlassVersion::v4_5_0,
                                                     CutlassVersion::v4_4_2, CutlassVersion::v4_4_1,
                                                     CutlassVersion::v4_2_1};

// "4,8,1" of "MainloopSm100...<4,8,1,tuple<...": the counts of a policy as the oracle writes it.
std::string counts_of(const std::string& policy) {
  const std::size_t open = policy.find('<');
  const std::size_t end = policy.find(",tuple", open);
  return open == std::string::npos || end == std::string::npos ? policy : policy.substr(open + 1, end - open - 1);
}

std::string stated_counts(const CutlassKernelName& name) {
  std::string counts = std::to_string(name.stages);
  for (const int more : {name.scale_stages, name.scheduler_stages, name.accumulator_stages}) {
    if (more > 0) counts += fmt::format(",{}", more);
  }
  return counts;
}

// What the name states and the oracle derives on its own must be one.
Status agrees(const CutlassKernelName& name, const CutlassKernel& kernel) {
  const auto differ = [](const char* what, const std::string& stated, const std::string& modelled) {
    return fail(ErrorCode::unsupported, fmt::format("the name states {} {}, and the model of CUTLASS's builders has {}",
                                                    what, stated, modelled));
  };
  if (kernel.error && !kernel.error->in_kernel_body) {
    return differ("a kernel that", "exists", fmt::format("the assertion '{}'", kernel.error->message));
  }
  if (name.stages > 0 && counts_of(kernel.policy) != stated_counts(name)) {
    return differ("pipeline stages", stated_counts(name), counts_of(kernel.policy));
  }
  if (name.epilogue_tile_m > 0 && !no_smem_epilogue(name) &&
      (kernel.epilogue_tile_m != name.epilogue_tile_m || kernel.epilogue_tile_n != name.epilogue_tile_n)) {
    return differ("an epilogue tile of", fmt::format("{}x{}", name.epilogue_tile_m, name.epilogue_tile_n),
                  fmt::format("{}x{}", kernel.epilogue_tile_m, kernel.epilogue_tile_n));
  }
  if (name.stages_d > 0 && (kernel.stages_c != name.stages_c || kernel.stages_d != name.stages_d)) {
    return differ("epilogue stages", fmt::format("{}/{}", name.stages_c, name.stages_d),
                  fmt::format("{}/{}", kernel.stages_c, kernel.stages_d));
  }
  return {};
}

// One release's answer. The builders' own rules come first: where the stages and the epilogue tile that they choose are
// the stated ones, the request is the plainest of those that mean the kernel, and its remedies are those of a user who
// left the choice to the builders.
Result<CutlassKernel> resolve_stated(const CutlassKernelName& name, const CutlassRequest& request) {
  std::optional<Error> error;
  for (const bool own_stages : {true, false}) {
    for (const bool own_tile : {true, false}) {
      CutlassRequest each = request;
      if (own_stages) each.stages = {};
      if (own_tile) each.epilogue_tile_m = each.epilogue_tile_n = std::nullopt;
      auto kernel = resolve_cutlass(each);
      const Status agreed = kernel ? agrees(name, *kernel) : tl::unexpected<Error>(kernel.error());
      if (agreed) return kernel;
      error = agreed.error();
    }
  }
  return tl::unexpected<Error>(*error);
}

}  // namespace
}  // namespace inspect

Result<CutlassKernel> cutlass_storage(const CutlassKernelName& name) {
  if (!name.request) return tl::unexpected<Error>(name.request.error());
  std::optional<CutlassKernel> found;
  std::optional<Error> error;
  for (const CutlassVersion version : inspect::kVersions) {
    if (name.policy_has_arch && *name.policy_has_arch != (version >= CutlassVersion::v4_5_0)) continue;
    CutlassRequest request = *name.request;
    request.version = version;
    auto kernel = inspect::resolve_stated(name, request);
    if (!kernel) {
      if (!error) error = kernel.error();
      continue;
    }
    if (found && found->total != kernel->total) {
      return fail(
          ErrorCode::unsupported,
          fmt::format("releases of CUTLASS disagree about its storage: {} B and {} B, and the name does not tell "
                      "the release",
                      found->total, kernel->total));
    }
    if (!found) found = std::move(*kernel);
  }
  if (!found) return tl::unexpected<Error>(*error);
  return std::move(*found);
}

}  // namespace tilewright
