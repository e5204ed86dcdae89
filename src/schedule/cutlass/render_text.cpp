// An explanation for a terminal.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "schedule/cutlass/render_words.hpp"
#include "schedule/format.hpp"

namespace tilewright {
namespace {

namespace cutlass = schedule::cutlass;
using schedule::append_wrapped;
using schedule::grouped;
using Out = std::back_insert_iterator<std::string>;

constexpr std::size_t kColumns = 110;

// A label with sentences, each on its own lines.
void add_sentences(std::string& text, const char* label, const std::vector<std::string>& sentences) {
  for (const std::string& sentence : sentences) append_wrapped(text, std::exchange(label, ""), sentence);
}

// "what   requested -> resolved", broken before the arrow where it is too long, then the rule with its file.
void add_step(std::string& text, const CutlassStep& step) {
  std::string line = fmt::format("  {:<19} {}", step.what, step.requested);
  const std::string arrow = "-> " + step.resolved;
  if (line.size() + 1 + arrow.size() <= kColumns) {
    text += line + " " + arrow + "\n";
  } else {
    text += line + "\n" + std::string(22, ' ') + arrow + "\n";
  }
  if (step.rule.empty()) return;
  std::string words = step.rule;
  if (!step.file.empty()) words += " [" + cutlass::file_name(step.file) + "]";
  while (!words.empty()) {
    constexpr std::size_t kIndent = 24;
    const std::size_t room = kColumns - kIndent;
    std::size_t end = words.size() <= room ? words.size() : words.rfind(' ', room);
    if (end == std::string::npos) end = words.size();
    text += std::string(kIndent, ' ') + words.substr(0, end) + "\n";
    words.erase(0, std::min(end + 1, words.size()));
  }
}

void add_resolution(std::string& text, const CutlassKernel& kernel) {
  if (kernel.steps.empty()) return;
  text += "\nrequested -> resolved\n";
  for (const CutlassStep& step : kernel.steps) add_step(text, step);
}

void add_account(std::string& text, const CutlassKernel& kernel) {
  if (!cutlass::has_types(kernel)) return;
  const bool reserved = kernel.reserved_bytes > 0;
  fmt::format_to(Out(text), "\n{:<26}{:>9}{:>10}{}\n", "SharedStorage", "offset", "bytes",
                 reserved ? "   counted by the builder" : "");
  for (const cutlass::AccountRow& row : cutlass::account(kernel)) {
    std::string line = fmt::format("  {:<24}{:>9}{:>10}", row.name, grouped(row.offset), grouped(row.bytes));
    if (reserved) line += fmt::format("{:>10}", grouped(row.reserved));
    if (!row.members.empty()) line += "   " + row.members;
    text += line + "\n";
  }
  std::string total = fmt::format("  {:<24}{:>9}{:>10}", "total", "", grouped(kernel.total));
  if (reserved) total += fmt::format("{:>10}", grouped(kernel.reserved_bytes));
  text += total + fmt::format("   limit {}\n", grouped(kernel.limit));
}

void add_remedies(std::string& text, const std::vector<CutlassRemedy>& remedies) {
  if (remedies.empty()) return;
  std::size_t width = 0;
  for (const CutlassRemedy& remedy : remedies) width = std::max(width, remedy.change.size());
  text += "\nremedies, cheapest first (--emit --remedy N prints the template arguments)\n";
  int number = 0;
  for (const CutlassRemedy& remedy : remedies) {
    fmt::format_to(Out(text), "  {}  {:<{}}  {:>8} B  {} stages  {}\n", ++number, remedy.change, width,
                   grouped(remedy.total), remedy.stages, remedy.cost);
  }
}

}  // namespace

std::string render_cutlass_text(const CutlassExplanation& explanation) {
  const CutlassKernel& kernel = explanation.kernel;
  std::string text = cutlass::title(kernel.request) + "\n";
  append_wrapped(text, "verdict", cutlass::verdict(kernel));
  if (const std::string words = cutlass::symptom(kernel); !words.empty()) append_wrapped(text, "", words);
  if (kernel.error && !kernel.error->remedy.empty()) append_wrapped(text, "remedy", kernel.error->remedy);
  add_sentences(text, "cause", cutlass::causes(explanation));
  add_sentences(text, "not it", cutlass::no_causes(explanation));
  add_resolution(text, kernel);
  add_account(text, kernel);
  add_remedies(text, explanation.remedies);
  text += "\n";
  if (const std::string words = cutlass::candidate_words(explanation); !words.empty()) {
    append_wrapped(text, "listed", words);
  }
  if (const std::string words = cutlass::defaults_words(explanation); !words.empty()) {
    append_wrapped(text, "assumed", words + ": as FlashInfer's MoE launcher");
  }
  append_wrapped(text, "Tilewright", cutlass::own_words(explanation));
  return text;
}

}  // namespace tilewright
