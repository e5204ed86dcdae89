// What `explain --cutlass` says about a kernel, as text, Markdown, JSON and Graphviz, and the template arguments that
// mend it.
//
// An explanation puts beside what CUTLASS resolves (cutlass.hpp) what a reader needs to act on it: which parts of the
// request were filled in, what the changes that are often blamed would do, where FlashInfer and TensorRT-LLM list the
// kernel, and what Tilewright's own schedule takes for the same tile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tilewright/cutlass.hpp"
#include "tilewright/result.hpp"
#include "tilewright/schedule.hpp"

namespace tilewright {

/// Which parts of a request nobody stated.
struct CutlassOpen {
  bool cluster = true;
  bool c = true;
  bool schedule = true;
  bool epilogue_schedule = true;
  bool epilogue_tile = true;
  bool no_smem = false;  ///< the epilogue schedule to fill in is a NoSmem one
};

/// A part of a request that was filled in.
struct CutlassDefault {
  std::string what;   ///< "cluster", "C", "schedule", "epilogue schedule", "epilogue tile"
  std::string value;  ///< "bf16", "KernelScheduleAuto"
  std::string why;    ///< the rule, in a few words
};

/// Fills the open parts as FlashInfer's and TensorRT-LLM's MoE launcher sets them for the architecture
/// (moe_gemm_tma_ws_launcher.inl at FlashInfer fb28d72), a dense kernel as the launcher would if it built one: D's type
/// for C on SM12x and void elsewhere; grouped kernels Auto on SM12x, Cooperative on SM90, 1SM or 2SM by the cluster on
/// SM10x; dense ones Auto.
std::vector<CutlassDefault> fill_as_flashinfer(CutlassRequest& request, const CutlassOpen& open);

/// One entry of the tile lists of FlashInfer's and TensorRT-LLM's grouped GEMM (cutlass_heuristic.cpp, fb28d72).
struct FlashInferCandidate {
  std::string name;         ///< "CtaShape128x256x64B": of one CTA, K in bytes of the activation's type
  std::string list;         ///< "get_candidate_configs_sm120"
  std::string variant;      ///< "FINALIZE", "NONE swap_ab"
  bool dispatched = false;  ///< the launcher's dispatch has a case for it; one without always throws
};

/// The candidate that asks for the request; none where no list holds it.
std::optional<FlashInferCandidate> flashinfer_candidate(const CutlassRequest& request);

/// The request with one thing changed.
struct CutlassAlternative {
  std::string change;  ///< "KernelPtrArrayTmaWarpSpecializedPingpong", "ElementC = void"
  bool builds = true;
  bool fits = false;
  int stages = 0;
  std::int64_t total = 0;
};

/// Tilewright's own kernel for the tile, weights x tokens x K: the same one, or the nearest that is built.
struct OwnSchedule {
  std::optional<Schedule> schedule;  ///< as many stages as fit; none where Tilewright has no kernel
  bool same_tile = false;
  std::int64_t total = 0;
  std::int64_t limit = 0;
  std::string message;  ///< why there is none, or why it is another tile; empty for the same one
};

struct CutlassExplanation {
  CutlassKernel kernel;
  std::vector<CutlassDefault> defaults;
  std::vector<CutlassRemedy> remedies;
  std::vector<CutlassAlternative> schedules;    ///< the other schedules of the architecture, everything else equal
  std::optional<CutlassAlternative> without_c;  ///< void C, where the request has one
  std::optional<FlashInferCandidate> candidate;
  OwnSchedule own;

  /// Bytes between the tensors of the mainloop: what their alignas costs.
  [[nodiscard]] std::int64_t mainloop_padding() const;
};

/// Resolves a request and what stands beside it. `defaults` are those that fill_as_flashinfer returned.
Result<CutlassExplanation> explain_cutlass(const CutlassRequest& request, std::vector<CutlassDefault> defaults = {});

/// The explanation for a terminal, 110 columns wide; with `all`, every step of the resolution, not only those that
/// decide (a template-id may then be wider).
std::string render_cutlass_text(const CutlassExplanation& explanation, bool all = false);
std::string render_cutlass_markdown(const CutlassExplanation& explanation);
/// Schema "tilewright.explain/1" (docs/cutlass.md).
std::string render_cutlass_json(const CutlassExplanation& explanation);
/// The resolution as a graph, requested to verdict, for Graphviz.
std::string render_cutlass_dot(const CutlassExplanation& explanation);

/// Two or more architectures side by side; `unsupported` ones are a message in the place of an explanation.
struct CutlassComparison {
  struct Side {
    Arch arch = Arch::sm_120;
    std::optional<CutlassExplanation> explanation;
    std::string unsupported;  ///< why there is none
  };
  std::vector<Side> sides;
};
std::string render_cutlass_text(const CutlassComparison& comparison);
std::string render_cutlass_markdown(const CutlassComparison& comparison);
std::string render_cutlass_json(const CutlassComparison& comparison);
std::string render_cutlass_dot(const CutlassComparison& comparison);

/// A struct of `using` aliases for CUTLASS's builders, from ArchTag to GemmKernel, as one C++ header: the request with
/// the change of a remedy, whose lines say what they were. A static_assert holds the kernel to the bytes that were
/// promised. A request that does not build is `invalid_argument` with the assertion. `output` is what finalize scatters
/// into: D itself is void there.
Result<std::string> emit_cutlass(const CutlassRequest& original, const CutlassKernel& mended,
                                 CutlassElement output = CutlassElement::bf16);

}  // namespace tilewright
