// An explanation: the kernel, and beside it what a reader would try or ask next.
#include <algorithm>
#include <utility>

#include "schedule/cutlass/flashinfer.hpp"
#include "tilewright/catalogue.hpp"
#include "tilewright/cutlass_render.hpp"
#include "tilewright/planner.hpp"

namespace tilewright {
namespace {

namespace cutlass = schedule::cutlass;

// The request resolved, or nothing where no evidence covers it.
std::optional<CutlassAlternative> alternative(const CutlassRequest& request, std::string change) {
  const auto kernel = resolve_cutlass(request);
  if (!kernel) return std::nullopt;
  return CutlassAlternative{std::move(change), kernel->builds(), kernel->builds() && kernel->fits(), kernel->stages,
                            kernel->total};
}

// SM100's tags are one or two SMs by the tile, so there is nothing to put in their place.
std::vector<CutlassAlternative> other_schedules(const CutlassRequest& request) {
  std::vector<CutlassAlternative> others;
  if (cutlass::is_sm10x(request.arch)) return others;
  for (const CutlassWarps warps : {CutlassWarps::cooperative, CutlassWarps::pingpong}) {
    CutlassRequest changed = request;
    changed.schedule = cutlass::launcher_schedule(request, warps);
    if (request.schedule == changed.schedule) continue;
    // SM90's epilogue follows the mainloop's warps.
    if (request.arch == Arch::sm_90 && request.epilogue_schedule.warps != CutlassEpilogueWarps::no_smem) {
      changed.epilogue_schedule = cutlass::launcher_epilogue(changed, false);
    }
    const char* const name = warps == CutlassWarps::cooperative ? "Cooperative" : "Pingpong";
    if (auto other = alternative(changed, name)) others.push_back(std::move(*other));
  }
  return others;
}

Epilogue own_epilogue(CutlassFusion fusion) {
  switch (fusion) {
    case CutlassFusion::linear_combination: break;
    case CutlassFusion::finalize: return Epilogue::finalize;
    case CutlassFusion::scale_factor_d: return Epilogue::act_nvfp4;
  }
  return Epilogue::bf16;
}

// The largest ring of Tilewright's kernel for the tile, on a problem of exactly one tile of tokens.
Result<OwnSchedule> own_kernel(const CutlassRequest& request) {
  TILEWRIGHT_ASSIGN(const Device device, default_device(request.arch));
  const CutlassTile& tile = request.tile;
  const TileSpec wanted = {request.swap_ab ? tile.m : tile.n, request.swap_ab ? tile.n : tile.m, tile.k, 0};
  constexpr int kKBlocks = 16;  // enough of them to fill any ring
  TILEWRIGHT_ASSIGN(const GemmProblem problem,
                    grouped_gemm(1, wanted.n, wanted.m, static_cast<std::int64_t>(tile.k) * kKBlocks,
                                 default_precision(request.arch), own_epilogue(request.fusion)));
  if (const auto rejection = reject(device, problem)) {
    const bool none = rejection->code == RejectionCode::no_kernels_for_arch;
    const std::string architecture = to_string(request.arch);
    return OwnSchedule{{}, false, 0, 0, none ? "no kernel is built for " + architecture : rejection->message};
  }
  OwnSchedule own{schedule_for_tile(device, problem, wanted), true, 0, device.smem_per_block, {}};
  if (const auto rejection = reject(device, problem, *own.schedule)) {
    own.schedule = rejection->nearest;
    own.same_tile = rejection->nearest && rejection->nearest->tile_m == wanted.m &&
                    rejection->nearest->tile_n == wanted.n && rejection->nearest->tile_k == wanted.k;
    own.message = rejection->message;
  }
  if (own.schedule) own.total = shared_memory(*own.schedule).total;
  return own;
}

bool takes_activations(CutlassOperand operand) {
  return operand == CutlassOperand::nvfp4 || operand == CutlassOperand::bf16 || operand == CutlassOperand::fp16;
}

OwnSchedule own_schedule(const CutlassRequest& request) {
  const CutlassOperand weight = cutlass::weight(request);
  const CutlassOperand activation = cutlass::activation(request);
  if (weight != CutlassOperand::nvfp4 || !takes_activations(activation)) {
    return {{},
            false,
            0,
            0,
            std::string("none: kernels here take NVFP4 weights with activations in NVFP4 or 16 bits, ") + "not " +
                to_string(weight) + " with " + to_string(activation)};
  }
  auto own = own_kernel(request);
  if (!own) return {{}, false, 0, 0, own.error().message()};
  return std::move(*own);
}

}  // namespace

std::int64_t CutlassExplanation::mainloop_padding() const {
  // Padding that follows a member of the mainloop and precedes another one.
  std::int64_t padding = 0;
  bool after_mainloop = false;
  std::int64_t pending = 0;
  for (const CutlassStorage& member : kernel.storage) {
    if (member.name.find("mainloop.smem") != std::string::npos) {
      if (after_mainloop) padding += pending;
      after_mainloop = true;
      pending = 0;
    } else if (member.name == "padding") {
      pending += member.bytes;
    } else {
      after_mainloop = false;
      pending = 0;
    }
  }
  return padding;
}

Result<CutlassExplanation> explain_cutlass(const CutlassRequest& request, std::vector<CutlassDefault> defaults) {
  CutlassExplanation explanation;
  TILEWRIGHT_ASSIGN(explanation.kernel, resolve_cutlass(request));
  explanation.defaults = std::move(defaults);
  explanation.candidate = flashinfer_candidate(request);
  explanation.own = own_schedule(request);
  const CutlassKernel& kernel = explanation.kernel;
  if (!kernel.builds() || !kernel.fits()) {
    auto remedies = cutlass_remedies(kernel);
    if (remedies) explanation.remedies = std::move(*remedies);
  }
  if (!kernel.builds()) return explanation;
  explanation.schedules = other_schedules(request);
  if (request.c != CutlassElement::none) {
    CutlassRequest without = request;
    without.c = CutlassElement::none;
    explanation.without_c = alternative(without, "ElementC = void");
  }
  return explanation;
}

}  // namespace tilewright
