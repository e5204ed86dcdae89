#include "schedule/cutlass/render_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

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

// Bytes of C's own buffer; 0 where it has none, or shares D's.
std::int64_t own_c_bytes(const CutlassKernel& kernel) {
  for (const CutlassStorage& member : kernel.storage) {
    if (ends_with(member.name, "epilogue.smem_C")) return member.bytes;
  }
  return 0;
}

std::string stages_words(int stages) { return fmt::format("{} stage{}", stages, stages == 1 ? "" : "s"); }

// Bytes of a member that the builder did not count; negative where it counted too many.
std::int64_t gap(const CutlassStorage& member) { return member.bytes - member.reserved; }

// "tensors.mainloop.smem_A" -> "mainloop.smem_A": the outermost struct says nothing.
std::string short_name(const std::string& name) {
  const std::string outer = "tensors.";
  return name.rfind(outer, 0) == 0 ? name.substr(outer.size()) : name;
}

// What the struct has and the builder did not count, largest first.
std::string forgotten(const CutlassKernel& kernel) {
  std::vector<std::pair<std::string, std::int64_t>> gaps;
  for (const CutlassStorage& member : kernel.storage) {
    if (gap(member) <= 0) continue;
    const std::string name = short_name(member.name);
    const auto same = std::find_if(gaps.begin(), gaps.end(), [&](const auto& each) { return each.first == name; });
    if (same == gaps.end()) {
      gaps.emplace_back(name, gap(member));
    } else {
      same->second += gap(member);
    }
  }
  std::stable_sort(gaps.begin(), gaps.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string words;
  for (const auto& [name, bytes] : gaps) {
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", name, grouped(bytes));
  }
  return words;
}

std::string reservation_words(const CutlassKernel& kernel) {
  const CutlassStages& rule = kernel.request.stages;
  if (rule.rule == CutlassStageRule::explicit_count) {
    return fmt::format(
        "StageCount<{}> is taken as it is: the builder does not ask whether it fits. The operands take {} B, the "
        "epilogue {} B.",
        rule.count, grouped(kernel.mainloop_bytes), grouped(kernel.epilogue_bytes));
  }
  std::int64_t more = 0;
  std::int64_t less = 0;
  for (const CutlassStorage& member : kernel.storage) (gap(member) > 0 ? more : less) += gap(member);
  const std::string asked =
      rule.rule == CutlassStageRule::automatic ? "StageCountAuto leaves no room for the epilogue. " : std::string();
  return fmt::format(
      "{}The builder counted {} B when it chose {}, and the struct takes {} B: {} B more. {} B it did not count ({}), "
      "{} B it counted for nothing.",
      asked, grouped(kernel.reserved_bytes), stages_words(kernel.stages), grouped(kernel.total),
      grouped(kernel.total - kernel.reserved_bytes), grouped(more), forgotten(kernel), grouped(-less));
}

// "A 24,576" of smem_A.
std::string leaf_words(const std::string& leaf, std::int64_t bytes) {
  const std::string prefix = "smem_";
  return fmt::format("{} {}", leaf.rfind(prefix, 0) == 0 ? leaf.substr(prefix.size()) : leaf, grouped(bytes));
}

// Members that repeat, such as SM100's five sets of tensor maps, once with their number.
std::vector<std::string> counted_once(const std::vector<std::string>& members) {
  std::vector<std::string> once;
  for (const std::string& member : members) {
    if (std::find(once.begin(), once.end(), member) == once.end()) once.push_back(member);
  }
  for (std::string& member : once) {
    const auto times = std::count(members.begin(), members.end(), member);
    if (times > 1) member += fmt::format(" x {}", times);
  }
  return once;
}

std::string c_words(const CutlassExplanation& explanation) {
  const CutlassKernel& kernel = explanation.kernel;
  const std::int64_t bytes = own_c_bytes(kernel);
  if (bytes == 0 || !explanation.without_c || !explanation.without_c->fits) return {};
  const bool finalize = kernel.request.fusion == CutlassFusion::finalize;
  return fmt::format("{} B are a C tile{}; with ElementC = void it needs {} B and fits.", grouped(bytes),
                     finalize ? " that finalize never reads" : "", grouped(explanation.without_c->total));
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
  return fmt::format("fits: {} B of the {} B of shared memory that a block may have, {} B left", grouped(kernel.total),
                     grouped(kernel.limit), grouped(kernel.limit - kernel.total));
}

std::string symptom(const CutlassKernel& kernel) {
  if (kernel.error && !kernel.fits()) {
    return fmt::format("nvcc stops at a static assertion in {}: {} B of shared memory, {} B over the {} B of a block.",
                       file_name(kernel.error->file), grouped(kernel.total), grouped(kernel.over_bytes()),
                       grouped(kernel.limit));
  }
  if (kernel.error) return fmt::format("nvcc stops at a static assertion in {}.", file_name(kernel.error->file));
  if (kernel.fits()) return {};
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
    same += (same.empty() ? "" : " or ") + other.change;
  }
  if (!same.empty()) {
    sentences.push_back(
        fmt::format("The schedule: with an explicit {} tag it takes the same {} B.", same, grouped(kernel.total)));
  }
  if (explanation.mainloop_padding() == 0) {
    sentences.push_back("The alignment of the operand tiles, alignas(1024) of A and B: it costs 0 B here.");
  }
  return sentences;
}

std::string defaults_words(const CutlassExplanation& explanation) {
  std::string words;
  for (const CutlassDefault& each : explanation.defaults) {
    words += words.empty() ? "" : ", ";
    // A mainloop's tag says of itself what it is.
    if (each.what == "epilogue schedule") words += "epilogue ";
    if (each.what != "schedule" && each.what != "epilogue schedule") words += each.what + " ";
    words += each.value;
    if (!each.why.empty()) words += fmt::format(" ({})", each.why);
  }
  if (words.empty() || !explanation.kernel.request.grouped) return words;
  return "as FlashInfer: " + words;
}

std::string markdown_prose(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '<' || c == '|' || c == '*' || c == '_') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string file_name(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::vector<AccountRow> account(const CutlassKernel& kernel) {
  std::vector<AccountRow> rows;
  AccountRow padding{"padding", 0, 0, {}};
  AccountRow missing{"not in it", 0, 0, {}};
  for (const CutlassStorage& member : kernel.storage) {
    const std::string name = short_name(member.name);
    if (name == padding.name || member.bytes == 0) {
      AccountRow& row = member.bytes == 0 ? missing : padding;
      row.bytes += member.bytes;
      row.reserved += member.reserved;
      row.members.push_back(member.bytes == 0 ? fmt::format("{} {}", name, grouped(member.reserved))
                                              : fmt::format("{} at {}", grouped(member.bytes), grouped(member.offset)));
      continue;
    }
    const std::size_t dot = name.rfind('.');
    const std::string parent = name.substr(0, std::min(dot, name.find('[')));
    auto row = std::find_if(rows.begin(), rows.end(), [&](const AccountRow& each) { return each.name == parent; });
    if (row == rows.end()) row = rows.insert(rows.end(), {parent, 0, 0, {}});
    row->bytes += member.bytes;
    row->reserved += member.reserved;
    if (dot != std::string::npos) row->members.push_back(leaf_words(name.substr(dot + 1), member.bytes));
  }
  for (AccountRow& row : rows) row.members = counted_once(row.members);
  if (!padding.members.empty()) rows.push_back(std::move(padding));
  if (!missing.members.empty()) rows.push_back(std::move(missing));
  return rows;
}

bool is_detail(const CutlassStep& step) {
  static constexpr std::array<std::string_view, 7> kDetails = {
      "grouped or dense",    "carve-out",
      "dispatch policy",     "kernel",
      "tile scheduler",      "accumulator and scheduler stages",
      "kernel's own storage"};
  return std::find(kDetails.begin(), kDetails.end(), step.what) != kDetails.end();
}

std::string own_words(const CutlassExplanation& explanation) {
  const OwnSchedule& own = explanation.own;
  if (!own.schedule) return own.message;
  const std::string kernel = describe(*own.schedule);
  const std::string bytes =
      fmt::format(", {} (weights x tokens x K): {} B, fits", to_string(own.schedule->precision), grouped(own.total));
  if (own.message.empty()) return kernel + bytes;
  return own.message + (ends_with(own.message, kernel) ? "" : ". " + kernel) + bytes;
}

std::string candidate_words(const CutlassExplanation& explanation) {
  if (!explanation.candidate) return {};
  const FlashInferCandidate& candidate = *explanation.candidate;
  return fmt::format("{} {}, K in bytes: {} of FlashInfer, TensorRT-LLM{}", candidate.name, candidate.variant,
                     candidate.list,
                     candidate.dispatched ? "" : "; the dispatch has no case for it and throws before it gets here");
}

}  // namespace tilewright::schedule::cutlass
