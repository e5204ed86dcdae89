#include "schedule/cutlass/render_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/cutlass/flashinfer.hpp"
#include "schedule/cutlass/tags.hpp"
#include "schedule/format.hpp"
#include "tilewright/shared_memory.hpp"

namespace tilewright::schedule::cutlass {
namespace {

using schedule::grouped;

bool ends_with(const std::string& text, const std::string& suffix) {
  return text.size() >= suffix.size() && text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

// SM100's and SM103's kernels hold a static assertion on their size; SM90's, which SM120 uses, do not.
bool size_is_asserted(const CutlassKernel& kernel) { return is_sm10x(kernel.request.arch); }

// Bytes of C's own buffer; 0 where it has none, or shares D's.
std::int64_t own_c_bytes(const CutlassKernel& kernel) {
  for (const CutlassStorage& member : kernel.storage) {
    if (ends_with(member.name, "epilogue.smem_C")) return member.bytes;
  }
  return 0;
}

std::string stages_words(int stages) { return fmt::format("{} stage{}", stages, stages == 1 ? "" : "s"); }

// "needs 94,208 B and fits, with 3 stages".
std::string outcome(const CutlassAlternative& other) {
  if (!other.builds) return "it does not build";
  return fmt::format("it needs {} B and {}, with {}", grouped(other.total), other.fits ? "fits" : "does not fit",
                     stages_words(other.stages));
}

// What the struct has and the builder did not count, largest first.
std::string forgotten(const CutlassKernel& kernel) {
  struct Gap {
    std::string name;
    std::int64_t bytes = 0;
  };
  std::vector<Gap> gaps;
  for (const AccountRow& row : account(kernel)) {
    if (row.bytes <= row.reserved) continue;
    const auto same = std::find_if(gaps.begin(), gaps.end(), [&](const Gap& gap) { return gap.name == row.name; });
    if (same == gaps.end()) {
      gaps.push_back({row.name, row.bytes - row.reserved});
    } else {
      same->bytes += row.bytes - row.reserved;
    }
  }
  std::stable_sort(gaps.begin(), gaps.end(), [](const Gap& a, const Gap& b) { return a.bytes > b.bytes; });
  std::string words;
  for (const Gap& gap : gaps) words += fmt::format("{}{} {}", words.empty() ? "" : ", ", gap.name, grouped(gap.bytes));
  return words;
}

std::string reservation_words(const CutlassKernel& kernel) {
  const CutlassStages& rule = kernel.request.stages;
  if (rule.rule == CutlassStageRule::explicit_count) {
    return fmt::format("StageCount<{}> is taken as it is: the builder does not ask whether the stages fit.",
                       rule.count);
  }
  std::int64_t more = 0;
  std::int64_t less = 0;
  for (const AccountRow& row : account(kernel)) {
    (row.bytes > row.reserved ? more : less) += row.bytes - row.reserved;
  }
  const std::string asked =
      rule.rule == CutlassStageRule::automatic ? "StageCountAuto leaves no room for the epilogue. " : std::string();
  return fmt::format(
      "{}The builder counted {} B when it chose {}; the struct takes {} B, {} B more: {} B that it did not count ({}), "
      "less {} B that it counted and nobody uses.",
      asked, grouped(kernel.reserved_bytes), stages_words(kernel.stages), grouped(kernel.total),
      grouped(kernel.total - kernel.reserved_bytes), grouped(more), forgotten(kernel), grouped(-less));
}

bool c_is_launchers(const CutlassExplanation& explanation) {
  return std::any_of(explanation.defaults.begin(), explanation.defaults.end(),
                     [](const CutlassDefault& each) { return each.what == "C"; });
}

std::string c_words(const CutlassExplanation& explanation) {
  const CutlassKernel& kernel = explanation.kernel;
  const std::int64_t bytes = own_c_bytes(kernel);
  if (bytes == 0 || !explanation.without_c || !explanation.without_c->fits) return {};
  const bool finalize = kernel.request.fusion == CutlassFusion::finalize;
  std::string words =
      fmt::format("{} B hold a C tile{}. Without it (ElementC = void) {}.", grouped(bytes),
                  finalize ? " that is never read: the finalize fusion has no C" : "", outcome(*explanation.without_c));
  if (finalize && c_is_launchers(explanation)) {
    words += " C is there because TensorRT-LLM PR 5636 met an illegal memory access with a void C on SM120.";
  }
  return words;
}

}  // namespace

std::string operands(const CutlassRequest& request) {
  const std::string kind = request.grouped ? "grouped " : "dense ";
  if (request.a == request.b) return kind + to_string(request.a);
  return fmt::format("{}{} x {}", kind, to_string(request.a), to_string(request.b));
}

std::string cluster_words(const CutlassRequest& request) {
  return request.cluster_m == 0 ? "dynamic" : fmt::format("{}x{}", request.cluster_m, request.cluster_n);
}

std::string title(const CutlassRequest& request) {
  return fmt::format("CUTLASS {} on {}: {}, tile {}x{}x{}, cluster {}, {}{}, C {}, D {}", to_string(request.version),
                     to_string(request.arch), operands(request), request.tile.m, request.tile.n, request.tile.k,
                     cluster_words(request), to_string(request.fusion), request.swap_ab ? ", swap-AB" : "",
                     to_string(request.c), to_string(request.d));
}

std::string stage_rule(const CutlassStages& stages) {
  switch (stages.rule) {
    case CutlassStageRule::explicit_count: return fmt::format("StageCount<{}>", stages.count);
    case CutlassStageRule::automatic: return "StageCountAuto";
    case CutlassStageRule::carveout: break;
  }
  if (stages.carveout_bytes) return fmt::format("StageCountAutoCarveout<{}>", *stages.carveout_bytes);
  return "StageCountAutoCarveout<sizeof(CollectiveEpilogue::SharedStorage)>";
}

std::string epilogue_tile_words(const CutlassRequest& request) {
  if (!request.epilogue_tile_m) return "EpilogueTileAuto";
  return fmt::format("{}x{}", *request.epilogue_tile_m, *request.epilogue_tile_n);
}

bool has_types(const CutlassKernel& kernel) { return kernel.total > 0; }

bool launches(const CutlassKernel& kernel) { return kernel.builds() && kernel.fits(); }

std::string verdict(const CutlassKernel& kernel) {
  if (kernel.error) {
    return fmt::format("{}: {} [{}]",
                       kernel.error->in_kernel_body ? "does not build, though its types do" : "does not build",
                       kernel.error->message, kernel.error->rule);
  }
  if (!kernel.fits()) {
    return fmt::format("does not fit: {} B of shared memory, over by {} B: a block may have {} B",
                       grouped(kernel.total), grouped(kernel.over_bytes()), grouped(kernel.limit));
  }
  return fmt::format("fits: {} B of shared memory, of {} B that a block may have, {} B left", grouped(kernel.total),
                     grouped(kernel.limit), grouped(kernel.limit - kernel.total));
}

std::string symptom(const CutlassKernel& kernel) {
  if (kernel.error) return fmt::format("nvcc stops at a static assertion in {}.", file_name(kernel.error->file));
  if (kernel.fits()) return {};
  if (size_is_asserted(kernel)) return "It does not compile: the kernel asserts its size.";
  std::string words =
      "It compiles, and no launch works: cudaFuncSetAttribute refuses the size, and initialize() returns \"Error "
      "Internal\"";
  if (kernel.request.grouped) {
    words += " (FlashInfer, TensorRT-LLM: \"Failed to initialize cutlass TMA WS grouped gemm\")";
  }
  return words + ".";
}

std::vector<std::string> causes(const CutlassExplanation& explanation) {
  const CutlassKernel& kernel = explanation.kernel;
  std::vector<std::string> sentences;
  if (!kernel.builds() || kernel.fits()) return sentences;
  if (std::string c = c_words(explanation); !c.empty()) sentences.push_back(std::move(c));
  sentences.push_back(reservation_words(kernel));
  return sentences;
}

std::vector<std::string> no_causes(const CutlassExplanation& explanation) {
  const CutlassKernel& kernel = explanation.kernel;
  std::vector<std::string> sentences;
  if (!kernel.builds() || kernel.fits()) return sentences;
  std::string same;
  for (const CutlassAlternative& other : explanation.schedules) {
    if (!other.builds || other.total != kernel.total) continue;
    same += (same.empty() ? "" : " and ") + other.change;
  }
  if (!same.empty()) {
    sentences.push_back(
        fmt::format("The schedule: {} by its own tag takes the same {} B.", same, grouped(kernel.total)));
  }
  if (explanation.mainloop_padding() == 0) {
    sentences.push_back("The alignment of the operand tiles, alignas(1024) of A and B: it costs 0 B here.");
  }
  return sentences;
}

std::string defaults_words(const CutlassExplanation& explanation) {
  std::string words;
  for (const CutlassDefault& each : explanation.defaults) {
    words += fmt::format("{}{} {}{}", words.empty() ? "" : "; ", each.what, each.value,
                         each.why.empty() ? "" : fmt::format(" ({})", each.why));
  }
  return words;
}

std::string file_name(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::vector<AccountRow> account(const CutlassKernel& kernel) {
  std::vector<AccountRow> rows;
  for (const CutlassStorage& member : kernel.storage) {
    const std::size_t dot = member.name.rfind('.');
    const std::string parent = dot == std::string::npos ? member.name : member.name.substr(0, dot);
    const std::string leaf = dot == std::string::npos ? std::string() : member.name.substr(dot + 1);
    if (rows.empty() || rows.back().name != parent || leaf.empty()) rows.push_back({parent, member.offset, 0, 0, {}});
    AccountRow& row = rows.back();
    row.bytes += member.bytes;
    row.reserved += member.reserved;
    if (!leaf.empty()) {
      row.members += fmt::format("{}{} {}", row.members.empty() ? "" : ", ", leaf, grouped(member.bytes));
    }
  }
  return rows;
}

std::string own_words(const CutlassExplanation& explanation) {
  const OwnSchedule& own = explanation.own;
  if (!own.schedule) return own.message;
  const std::string kernel = fmt::format("{} (weights x tokens x K): {} B of {} B", describe(*own.schedule),
                                         grouped(own.total), grouped(own.limit));
  return own.message.empty() ? kernel : own.message + ". " + kernel;
}

std::string candidate_words(const CutlassExplanation& explanation) {
  if (!explanation.candidate) return {};
  const FlashInferCandidate& candidate = *explanation.candidate;
  return fmt::format("{} (K in bytes), {}, in FlashInfer's and TensorRT-LLM's {}{}", candidate.name, candidate.variant,
                     candidate.list,
                     candidate.dispatched ? "" : "; the dispatch has no case for it and throws before it gets here");
}

}  // namespace tilewright::schedule::cutlass
