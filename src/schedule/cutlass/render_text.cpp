// An explanation for a terminal.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <utility>

#include "schedule/cutlass/render_words.hpp"
#include "schedule/format.hpp"

namespace tilewright {
namespace {

namespace cutlass = schedule::cutlass;
using schedule::grouped;
using Out = std::back_insert_iterator<std::string>;

constexpr std::size_t kColumns = 110;

// Appends pieces to a line that has begun, broken between them before the last column and indented.
void add_pieces(std::string& text, std::string line, const std::vector<std::string>& pieces, std::size_t indent) {
  for (const std::string& piece : pieces) {
    if (line.size() + 1 + piece.size() > kColumns && line.size() > indent) {
      text += std::exchange(line, std::string(indent, ' ')) + "\n";
    } else if (line.size() > indent) {
      line += ' ';
    }
    line.resize(std::max(line.size(), indent), ' ');
    line += piece;
  }
  text += line + "\n";
}

void add_words(std::string& text, std::string line, const std::string& words, std::size_t indent) {
  std::istringstream in(words);
  const std::vector<std::string> pieces{std::istream_iterator<std::string>(in), {}};
  add_pieces(text, std::move(line), pieces, indent);
}

// A label with sentences, each on its own lines; nothing for an empty one.
void add_sentence(std::string& text, const char* label, const std::string& sentence) {
  constexpr std::size_t kIndent = 11;
  if (!sentence.empty()) add_words(text, fmt::format("  {}", label), sentence, kIndent);
}

void add_sentences(std::string& text, const char* label, const std::vector<std::string>& sentences) {
  for (const std::string& sentence : sentences) add_sentence(text, std::exchange(label, ""), sentence);
}

// "what   requested -> resolved  rule [file]", broken before the arrow and before the rule where it is too long.
void add_step(std::string& text, const CutlassStep& step) {
  constexpr std::size_t kIndent = 8;
  const std::string file = step.file.empty() ? std::string() : fmt::format(" [{}]", cutlass::file_name(step.file));
  const std::string why = step.rule + file;
  std::string line = fmt::format("  {:<19}{}{}", step.what, step.requested.empty() ? "" : " ", step.requested);
  if (step.requested != step.resolved) {
    const std::string arrow = " -> " + step.resolved;
    if (line.size() + arrow.size() > kColumns) text += std::exchange(line, std::string(kIndent - 1, ' ')) + "\n";
    line += arrow;
  }
  if (line.size() + 2 + why.size() <= kColumns) {
    text += line + "  " + why + "\n";
  } else {
    text += line + "\n";
    add_words(text, std::string(kIndent, ' '), why, kIndent);
  }
}

void add_resolution(std::string& text, const CutlassKernel& kernel, bool all) {
  if (kernel.steps.empty()) return;
  const bool details = std::any_of(kernel.steps.begin(), kernel.steps.end(), cutlass::is_detail);
  text += "\nrequested -> resolved";
  text += details && !all ? " (--all shows every step)\n" : "\n";
  for (const CutlassStep& step : kernel.steps) {
    if (all || !cutlass::is_detail(step)) add_step(text, step);
  }
}

void add_account(std::string& text, const CutlassKernel& kernel) {
  if (!cutlass::has_types(kernel)) return;
  const bool reserved = kernel.reserved_bytes > 0;
  fmt::format_to(Out(text), "\n{:<20}{:>10}{}\n", "SharedStorage", "bytes",
                 reserved ? "   counted by the builder" : "");
  for (const cutlass::AccountRow& row : cutlass::account(kernel)) {
    std::string line = fmt::format("  {:<18}{:>10}", row.name, grouped(row.bytes));
    if (reserved) line += fmt::format("{:>10}", grouped(row.reserved));
    std::vector<std::string> members = row.members;
    for (std::size_t i = 0; i + 1 < members.size(); ++i) members[i] += ",";
    add_pieces(text, line, members, line.size() + 3);
  }
  std::string total = fmt::format("  {:<18}{:>10}", "total", grouped(kernel.total));
  if (reserved) total += fmt::format("{:>10}", grouped(kernel.reserved_bytes));
  text += total + fmt::format("   limit {}\n", grouped(kernel.limit));
}

void add_remedies(std::string& text, const std::vector<CutlassRemedy>& remedies) {
  if (remedies.empty()) return;
  constexpr std::size_t kWidest = 40;  // a longer change stands on a line of its own
  std::size_t width = 0;
  for (const CutlassRemedy& remedy : remedies) {
    if (remedy.change.size() <= kWidest) width = std::max(width, remedy.change.size());
  }
  text += "\nremedies, cheapest first (--emit --remedy N prints the template arguments)\n";
  int number = 0;
  for (const CutlassRemedy& remedy : remedies) {
    std::string line = fmt::format("  {}  {:<{}}", ++number, remedy.change, width);
    if (remedy.change.size() > kWidest) text += std::exchange(line, std::string(5 + width, ' ')) + "\n";
    line += fmt::format(" {:>8} B, {} stages ", grouped(remedy.total), remedy.stages);
    const std::string cost = remedy.fits ? remedy.cost : "builds, and does not fit; " + remedy.cost;
    add_words(text, line, cost, line.size() + 1);
  }
}

}  // namespace

std::string render_cutlass_text(const CutlassExplanation& explanation, bool all) {
  const CutlassKernel& kernel = explanation.kernel;
  std::string text = cutlass::title(kernel.request) + "\n";
  add_sentence(text, "verdict", cutlass::verdict(kernel));
  add_sentence(text, "", cutlass::symptom(kernel));
  if (kernel.error) add_sentence(text, "remedy", kernel.error->remedy);
  add_sentences(text, "cause", cutlass::causes(explanation));
  add_sentences(text, "not it", cutlass::no_causes(explanation));
  add_remedies(text, explanation.remedies);
  add_resolution(text, kernel, all);
  add_account(text, kernel);
  text += "\n";
  add_sentence(text, "listed", cutlass::candidate_words(explanation));
  add_sentence(text, "assumed", cutlass::defaults_words(explanation));
  add_sentence(text, "ours", cutlass::own_words(explanation));
  return text;
}

}  // namespace tilewright
