// What CUTLASS's SM120 builders decide, part by part: the mainloop's operands and reserves, the epilogue, the errors.
#pragma once

#include <cstdint>
#include <optional>

#include "schedule/cutlass/epilogue.hpp"

namespace tilewright::schedule::cutlass {

inline constexpr const char* kSm120BlockScaledBuilder = "gemm/collective/builders/sm120_blockscaled_mma_builder.inl";
inline constexpr const char* kSm120EpilogueBuilder = "epilogue/collective/builders/sm120_builder.inl";

/// Whether a request without block scales takes the mainloop of an array rather than that of one problem.
bool sm120_array_mainloop(const CutlassRequest& request);

/// The file of the mainloop builder that a request ends up in: block-scaled, F8F6F4 of one problem, or F8F6F4 of an
/// array.
const char* sm120_mainloop_builder(const CutlassRequest& request);

/// Bytes of one stage, and what is set aside besides the stages.
struct Sm120Mainloop {
  std::int64_t a = 0;
  std::int64_t b = 0;
  std::int64_t sfa = 0;  ///< scale factors as the stage count counts them: 0 where the layout has no rows
  std::int64_t sfb = 0;
  std::int64_t barriers = 0;         ///< what a stage's barriers are counted as; they take 16 B
  std::int64_t scheduler = 0;        ///< reserved for the tile scheduler's pipeline
  std::int64_t responses = 0;        ///< reserved for its responses
  std::int64_t tensormaps = 0;       ///< reserved for TMA descriptors
  std::int64_t tensormap_ready = 0;  ///< reserved for a pipeline that the kernel does not have
  int scheduler_stages = 0;          ///< the policy's second argument

  [[nodiscard]] std::int64_t stage() const { return a + b + sfa + sfb + barriers; }
  [[nodiscard]] std::int64_t reserve() const { return scheduler + responses + tensormaps + tensormap_ready; }
};
Sm120Mainloop sm120_mainloop(const CutlassRequest& request);

/// Whether the resolved kernel is cooperative: every tag that does not say pingpong.
constexpr bool sm120_cooperative(const CutlassRequest& request) {
  return request.schedule.warps != CutlassWarps::pingpong;
}

/// Whether no mainloop builder takes the tag, the operands and the tile, or the epilogue builder none of the
/// epilogue's.
std::optional<CutlassBuildError> sm120_no_builder(const CutlassRequest& request);

/// The mainloop builder's static assertions, in its order.
std::optional<CutlassBuildError> sm120_mainloop_error(const CutlassRequest& request);

/// What stops a kernel whose types exist: the kernel's class, or its body.
std::optional<CutlassBuildError> sm120_kernel_error(const CutlassRequest& request);

/// `unsupported` for operands, epilogues and versions without compiled evidence.
Status sm120_operands_covered(const CutlassRequest& request);
/// The same for tiles that no assertion refuses.
Status sm120_tile_covered(const CutlassRequest& request);

/// The epilogue, or the assertion that stops it. The steps go to `kernel`.
std::optional<Epilogue> sm120_epilogue(CutlassKernel& kernel);

/// Fills storage, bytes, reserves and total of a kernel whose stages are known. `carveout` is 0 under StageCountAuto.
void sm120_storage(CutlassKernel& kernel, const Sm120Mainloop& mainloop, const Epilogue& epilogue,
                   std::int64_t carveout);

}  // namespace tilewright::schedule::cutlass
