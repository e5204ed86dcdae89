#include "schedule/cutlass/render_dot.hpp"

#include <fmt/format.h>

#include <iterator>

#include "schedule/cutlass/render_words.hpp"
#include "schedule/format.hpp"

namespace tilewright {
namespace schedule::cutlass {
namespace {

using Out = std::back_insert_iterator<std::string>;

constexpr const char* kGood = "#2f7d32";
constexpr const char* kBad = "#b3261e";

std::string step_label(const CutlassStep& step) {
  std::string text = fmt::format("{}\n{}\n-> {}", step.what, step.requested, step.resolved);
  if (!step.rule.empty()) text += "\n" + step.rule;
  if (!step.file.empty()) text += "\n[" + file_name(step.file) + "]";
  return label(text);
}

std::string account_label(const CutlassKernel& kernel) {
  std::string text = fmt::format("SharedStorage {} B", grouped(kernel.total));
  for (const AccountRow& row : account(kernel)) text += fmt::format("\n{} {}", row.name, grouped(row.bytes));
  if (kernel.reserved_bytes > 0) text += fmt::format("\ncounted by the builder: {}", grouped(kernel.reserved_bytes));
  return label(text);
}

}  // namespace

std::string label(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n') {
      quoted += "\\n";
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string graph_body(const CutlassExplanation& explanation, const std::string& prefix) {
  const CutlassKernel& kernel = explanation.kernel;
  std::string text;
  std::string last = prefix + "request";
  fmt::format_to(Out(text), "  {} [shape=oval, label={}];\n", last, label(title(kernel.request)));
  const auto follow = [&](const std::string& node, const std::string& attributes) {
    fmt::format_to(Out(text), "  {} [{}];\n  {} -> {};\n", node, attributes, last, node);
    last = node;
  };
  int number = 0;
  for (const CutlassStep& step : kernel.steps) {
    follow(fmt::format("{}step{}", prefix, ++number), "label=" + step_label(step));
  }
  if (has_types(kernel)) follow(prefix + "storage", "shape=note, label=" + account_label(kernel));
  const char* const color = launches(kernel) ? kGood : kBad;
  follow(prefix + "verdict", fmt::format("color=\"{0}\", fontcolor=\"{0}\", label={1}", color, label(verdict(kernel))));
  number = 0;
  for (const CutlassRemedy& remedy : explanation.remedies) {
    fmt::format_to(
        Out(text), "  {0}remedy{1} [style=dashed, label={2}];\n  {0}verdict -> {0}remedy{1} [style=dashed];\n", prefix,
        ++number, label(fmt::format("{}\n{} B, {} stages", remedy.change, grouped(remedy.total), remedy.stages)));
  }
  return text;
}

std::string graph(const std::string& body) {
  return "digraph explain {\n  node [shape=box, fontname=\"monospace\", fontsize=10];\n" + body + "}\n";
}

}  // namespace schedule::cutlass

std::string render_cutlass_dot(const CutlassExplanation& explanation) {
  return schedule::cutlass::graph(schedule::cutlass::graph_body(explanation, ""));
}

}  // namespace tilewright
