// Architectures side by side: where the same request goes two ways, and which difference decides.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "schedule/cutlass/flashinfer.hpp"
#include "schedule/cutlass/render_dot.hpp"
#include "schedule/cutlass/render_json.hpp"
#include "schedule/cutlass/render_words.hpp"
#include "schedule/cutlass/tags.hpp"
#include "schedule/format.hpp"

namespace tilewright {
namespace {

namespace cutlass = schedule::cutlass;
using schedule::grouped;
using Side = CutlassComparison::Side;
using Out = std::back_insert_iterator<std::string>;

struct Row {
  std::string name;
  std::vector<std::string> cells;
};

std::string short_verdict(const Side& side) {
  if (!side.explanation) return "not covered";
  const CutlassKernel& kernel = side.explanation->kernel;
  if (kernel.error) return "does not build";
  return kernel.fits() ? "fits" : fmt::format("over by {} B", grouped(kernel.over_bytes()));
}

std::string storage_of(const CutlassKernel& kernel, const char* part) {
  std::int64_t bytes = 0;
  for (const CutlassStorage& member : kernel.storage) {
    if (member.name.find(part) != std::string::npos) bytes += member.bytes;
  }
  return grouped(bytes);
}

std::string stages_of(const CutlassKernel& kernel) {
  return kernel.scale_stages > 0 ? fmt::format("{}, {} of scales", kernel.stages, kernel.scale_stages)
                                 : std::to_string(kernel.stages);
}

std::vector<Row> rows_of(const CutlassComparison& comparison) {
  std::vector<Row> rows;
  const auto add = [&](const char* name, const std::function<std::string(const Side&)>& cell) {
    Row row{name, {}};
    for (const Side& side : comparison.sides) row.cells.push_back(cell(side));
    rows.push_back(std::move(row));
  };
  // Of kernels that have types; a dash for the others.
  const auto sized = [&](const char* name, const std::function<std::string(const CutlassKernel&)>& cell) {
    add(name, [&](const Side& side) {
      const bool known = side.explanation && cutlass::has_types(side.explanation->kernel);
      return known ? cell(side.explanation->kernel) : std::string("-");
    });
  };
  const auto asked = [&](const char* name, const std::function<std::string(const CutlassRequest&)>& cell) {
    add(name,
        [&](const Side& side) { return side.explanation ? cell(side.explanation->kernel.request) : std::string("-"); });
  };
  add("verdict", short_verdict);
  asked("cluster", cutlass::cluster_words);
  asked("schedule", [](const CutlassRequest& r) { return cutlass::short_tag_name(r.schedule); });
  asked("C", [](const CutlassRequest& r) { return std::string(to_string(r.c)); });
  sized("warps", [](const CutlassKernel& k) { return std::string(to_string(k.warps)); });
  sized("stages", stages_of);
  sized("epilogue tile",
        [](const CutlassKernel& k) { return fmt::format("{}x{}", k.epilogue_tile_m, k.epilogue_tile_n); });
  sized("stages of C, D", [](const CutlassKernel& k) { return fmt::format("{}, {}", k.stages_c, k.stages_d); });
  sized("mainloop B", [](const CutlassKernel& k) { return grouped(k.mainloop_bytes); });
  sized("epilogue B", [](const CutlassKernel& k) { return grouped(k.epilogue_bytes); });
  sized("barriers B", [](const CutlassKernel& k) { return storage_of(k, "pipelines"); });
  sized("tensormaps B", [](const CutlassKernel& k) { return storage_of(k, "tensormaps"); });
  sized("padding B", [](const CutlassKernel& k) { return storage_of(k, "padding"); });
  sized("counted B", [](const CutlassKernel& k) { return k.reserved_bytes > 0 ? grouped(k.reserved_bytes) : "-"; });
  sized("total B", [](const CutlassKernel& k) { return grouped(k.total); });
  add("limit B", [](const Side& side) { return grouped(smem_per_block(side.arch)); });
  return rows;
}

// What differs between a side that launches and one that does not.
std::vector<std::string> differences(const Side& good, const Side& bad) {
  std::vector<std::string> sentences;
  const CutlassKernel& works = good.explanation->kernel;
  const CutlassKernel& fails = bad.explanation->kernel;
  const std::string there = to_string(good.arch);
  const std::string here = to_string(bad.arch);
  if (fails.error) {
    sentences.push_back(fmt::format("{} {}; {}", here, cutlass::verdict(fails), fails.error->remedy));
    return sentences;
  }
  if (works.limit > fails.limit) {
    sentences.push_back(
        fmt::format("A block of {} may have {} B, {} B less than one of {}: the kernel's {} B would fit there.", here,
                    grouped(fails.limit), grouped(works.limit - fails.limit), there, grouped(fails.total)));
  }
  if (works.request.c != fails.request.c) {
    sentences.push_back(fmt::format("C is {} on {} and {} on {}: the launcher's choice, not the builder's.",
                                    to_string(works.request.c), there, to_string(fails.request.c), here));
  }
  if (cutlass::is_sm10x(good.arch) && !cutlass::is_sm10x(bad.arch)) {
    sentences.push_back(fmt::format(
        "{}'s kernel asserts its size, so one that is too large does not compile; {} uses SM90's, which do not: it "
        "compiles and cannot launch.",
        there, here));
  }
  for (std::string& cause : cutlass::causes(*bad.explanation)) sentences.push_back(fmt::format("{}: {}", here, cause));
  return sentences;
}

std::vector<std::string> conclusions(const CutlassComparison& comparison) {
  std::vector<std::string> sentences;
  const Side* good = nullptr;
  for (const Side& side : comparison.sides) {
    if (!good && side.explanation && cutlass::launches(side.explanation->kernel)) good = &side;
    if (!side.explanation) sentences.push_back(fmt::format("{}: {}", to_string(side.arch), side.unsupported));
  }
  for (const Side& side : comparison.sides) {
    if (!side.explanation || cutlass::launches(side.explanation->kernel)) continue;
    if (good) {
      for (std::string& words : differences(*good, side)) sentences.push_back(std::move(words));
    } else {
      sentences.push_back(fmt::format("{}: {}", to_string(side.arch), cutlass::verdict(side.explanation->kernel)));
    }
  }
  return sentences;
}

// What both sides were asked.
std::string subject(const CutlassComparison& comparison) {
  for (const Side& side : comparison.sides) {
    if (!side.explanation) continue;
    const CutlassRequest& request = side.explanation->kernel.request;
    return fmt::format("CUTLASS {}: {}, tile {}x{}x{}, {}{}", to_string(request.version), cutlass::operands(request),
                       request.tile.m, request.tile.n, request.tile.k, to_string(request.fusion),
                       request.swap_ab ? ", swap-AB" : "");
  }
  return "CUTLASS";
}

}  // namespace

std::string render_cutlass_text(const CutlassComparison& comparison) {
  const std::vector<Row> rows = rows_of(comparison);
  std::vector<std::size_t> widths(comparison.sides.size(), 0);
  for (std::size_t i = 0; i < widths.size(); ++i) {
    widths[i] = std::string(to_string(comparison.sides[i].arch)).size();
    for (const Row& row : rows) widths[i] = std::max(widths[i], row.cells[i].size());
  }
  std::string text = subject(comparison) + "\n\n" + std::string(16, ' ');
  for (std::size_t i = 0; i < widths.size(); ++i) {
    fmt::format_to(Out(text), "  {:>{}}", to_string(comparison.sides[i].arch), widths[i]);
  }
  text += "\n";
  for (const Row& row : rows) {
    fmt::format_to(Out(text), "  {:<14}", row.name);
    for (std::size_t i = 0; i < widths.size(); ++i) fmt::format_to(Out(text), "  {:>{}}", row.cells[i], widths[i]);
    text += "\n";
  }
  const char* label = "why";
  const std::vector<std::string> sentences = conclusions(comparison);
  if (!sentences.empty()) text += "\n";
  for (const std::string& sentence : sentences) schedule::append_wrapped(text, std::exchange(label, ""), sentence);
  return text;
}

std::string render_cutlass_markdown(const CutlassComparison& comparison) {
  std::string text = "## " + cutlass::markdown_prose(subject(comparison)) + "\n\n| |";
  for (const Side& side : comparison.sides) fmt::format_to(Out(text), " {} |", to_string(side.arch));
  text += "\n|---|";
  for (std::size_t i = 0; i < comparison.sides.size(); ++i) text += "---:|";
  text += "\n";
  for (const Row& row : rows_of(comparison)) {
    fmt::format_to(Out(text), "| {} |", row.name);
    for (const std::string& cell : row.cells) fmt::format_to(Out(text), " {} |", cell);
    text += "\n";
  }
  text += "\n";
  for (const std::string& sentence : conclusions(comparison))
    fmt::format_to(Out(text), "- {}\n", cutlass::markdown_prose(sentence));
  return text;
}

std::string render_cutlass_json(const CutlassComparison& comparison) {
  cutlass::Json sides = cutlass::Json::array();
  for (const Side& side : comparison.sides) {
    cutlass::Json json = {{"arch", to_string(side.arch)}};
    if (side.explanation) {
      json.update(cutlass::explanation_json(*side.explanation));
    } else {
      json["unsupported"] = side.unsupported;
    }
    sides.push_back(std::move(json));
  }
  return cutlass::document({{"compare", std::move(sides)}, {"why", conclusions(comparison)}});
}

std::string render_cutlass_dot(const CutlassComparison& comparison) {
  std::string body;
  for (const Side& side : comparison.sides) {
    const std::string name = to_string(side.arch);
    fmt::format_to(Out(body), "  subgraph cluster_{} {{\n  label={};\n", name, cutlass::label(name));
    if (side.explanation) {
      body += cutlass::graph_body(*side.explanation, name + "_");
    } else {
      fmt::format_to(Out(body), "  {}_verdict [label={}];\n", name, cutlass::label(side.unsupported));
    }
    body += "  }\n";
  }
  return cutlass::graph(body);
}

}  // namespace tilewright
