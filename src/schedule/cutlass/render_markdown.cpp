// An explanation as Markdown, for an issue or a pull request.
#include <fmt/format.h>

#include <iterator>

#include "schedule/cutlass/render_words.hpp"
#include "schedule/format.hpp"
#include "tilewright/cutlass_render.hpp"

namespace tilewright {
namespace {

namespace cutlass = schedule::cutlass;
using schedule::grouped;
using Out = std::back_insert_iterator<std::string>;

// A template-id in backquotes keeps its angle brackets; a table needs its bars escaped.
std::string code(const std::string& text) {
  if (text.empty()) return {};
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return "`" + escaped + "`";
}

void add_list(std::string& text, const char* label, const std::vector<std::string>& sentences) {
  for (const std::string& sentence : sentences)
    fmt::format_to(Out(text), "- **{}:** {}\n", label, cutlass::markdown_prose(sentence));
}

void add_resolution(std::string& text, const CutlassKernel& kernel) {
  if (kernel.steps.empty()) return;
  text += "\n| | requested | resolved | rule | file |\n|---|---|---|---|---|\n";
  for (const CutlassStep& step : kernel.steps) {
    fmt::format_to(Out(text), "| {} | {} | {} | {} | {} |\n", step.what, code(step.requested), code(step.resolved),
                   cutlass::markdown_prose(step.rule), code(cutlass::file_name(step.file)));
  }
}

void add_account(std::string& text, const CutlassKernel& kernel) {
  if (!cutlass::has_types(kernel)) return;
  text += "\n| SharedStorage | bytes | counted by the builder | |\n|---|---:|---:|---|\n";
  for (const cutlass::AccountRow& row : cutlass::account(kernel)) {
    fmt::format_to(Out(text), "| {} | {} | {} | {} |\n", code(row.name), grouped(row.bytes), grouped(row.reserved),
                   cutlass::markdown_prose(fmt::format("{}", fmt::join(row.members, ", "))));
  }
  fmt::format_to(Out(text), "| **total** | **{}** | {} | limit {} |\n", grouped(kernel.total),
                 grouped(kernel.reserved_bytes), grouped(kernel.limit));
}

void add_remedies(std::string& text, const std::vector<CutlassRemedy>& remedies) {
  if (remedies.empty()) return;
  text += "\n| remedy | change | stages | bytes | cost |\n|---:|---|---:|---:|---|\n";
  int number = 0;
  for (const CutlassRemedy& remedy : remedies) {
    fmt::format_to(Out(text), "| {} | {} | {} | {} | {} |\n", ++number, code(remedy.change), remedy.stages,
                   grouped(remedy.total), cutlass::markdown_prose(remedy.cost));
  }
}

}  // namespace

std::string render_cutlass_markdown(const CutlassExplanation& explanation) {
  const CutlassKernel& kernel = explanation.kernel;
  std::string text = "## " + cutlass::markdown_prose(cutlass::title(kernel.request)) + "\n\n";
  add_list(text, "verdict", {cutlass::verdict(kernel)});
  if (const std::string words = cutlass::symptom(kernel); !words.empty()) add_list(text, "seen as", {words});
  if (kernel.error && !kernel.error->remedy.empty()) add_list(text, "remedy", {kernel.error->remedy});
  add_list(text, "cause", cutlass::causes(explanation));
  add_list(text, "not the cause", cutlass::no_causes(explanation));
  if (const std::string words = cutlass::candidate_words(explanation); !words.empty())
    add_list(text, "listed", {words});
  if (const std::string words = cutlass::defaults_words(explanation); !words.empty()) {
    add_list(text, "assumed", {words});
  }
  add_list(text, "Tilewright's own kernel", {cutlass::own_words(explanation)});
  add_resolution(text, kernel);
  add_account(text, kernel);
  add_remedies(text, explanation.remedies);
  return text;
}

}  // namespace tilewright
